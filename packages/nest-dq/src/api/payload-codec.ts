import { DqError, show, wrongValue } from '../errors.js';

/**
 * Turns payloads into what is stored, and back, for types that JSON can't represent, such as Date, Map and BigInt. See
 * docs/codecs.md.
 */
export interface PayloadCodec {
  /**
   * Stored with each payload, so that a process knows how to read it: 1 to 40 of `A-Z a-z 0-9 _ . -`. Keep it for as long as jobs
   * wait that were written with it, and take another name for another encoding.
   */
  readonly name: string;
  /** Returns what is stored of a payload. Called on each add; a payload of `undefined` isn't encoded. Throws if it can't. */
  encode(payload: any): string | Uint8Array;
  /** Returns the payload, given what `encode` returned: a string, or the bytes as a Buffer. Throws if it can't. */
  decode(stored: any): unknown;
}

/** The codecs of a tube: see `Tube`. */
export interface TubeCodecs {
  readonly codec?: PayloadCodec;
  readonly alsoReads?: readonly PayloadCodec[];
}

/** A payload as its codec wrote it, where it can't be decoded because only its handler's process has the codec. */
export class EncodedPayload {
  constructor(
    /** Name of the codec. */
    readonly codec: string,
    /** The return value of the codec's `encode`. */
    readonly stored: string | Buffer,
  ) {}

  /** Shows a string as `text`, and bytes as `base64`. */
  toJSON(): { codec: string; text: string } | { codec: string; base64: string } {
    const { codec, stored } = this;
    return typeof stored === 'string'
      ? { codec, text: stored }
      : { codec, base64: stored.toString('base64') };
  }
}

const NAME = /^[\w.-]{1,40}$/;
const EXPECTED = '{ name, encode, decode }, with a name of 1 to 40 of A-Z a-z 0-9 _ . - and two functions';

/** Checks the codecs of a tube. `DQ_BAD_OPTION`. */
export function checkCodecs({ codec, alsoReads }: TubeCodecs, tube: string): TubeCodecs {
  if (alsoReads !== undefined && !Array.isArray(alsoReads))
    throw wrongValue('DQ_BAD_OPTION', `\`alsoReads\` of ${show(tube)}`, alsoReads, 'an array of codecs');
  const own = codec === undefined ? [] : [checkCodec(codec, `the codec of ${show(tube)}`)];
  const others = (alsoReads ?? []).map((each) =>
    checkCodec(each, `a codec in \`alsoReads\` of ${show(tube)}`),
  );
  const names = [...own, ...others].map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined)
    return { ...(codec && { codec }), ...(others.length > 0 && { alsoReads: others }) };
  const fact = `${show(tube)} has two codecs named ${show(twice)}: expected a name for each, by which stored payloads are read`;
  throw new DqError('DQ_BAD_OPTION', fact);
}

function checkCodec(codec: unknown, what: string): PayloadCodec {
  const given = codec as Partial<PayloadCodec> | null | undefined;
  if (
    typeof given === 'object' &&
    given !== null &&
    typeof given.name === 'string' &&
    NAME.test(given.name) &&
    typeof given.encode === 'function' &&
    typeof given.decode === 'function'
  )
    return given as PayloadCodec;
  throw wrongValue('DQ_BAD_OPTION', what, codec, EXPECTED);
}
