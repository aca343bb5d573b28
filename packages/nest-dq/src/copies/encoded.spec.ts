import { describe, expect, it } from '@jest/globals';
import { copyBody } from '../../spec-support/copy-body.js';
import { unwrap } from '../../spec-support/unwrap.js';
import { EncodedPayload, type PayloadCodec } from '../api/payload-codec.js';
import { DqError } from '../errors.js';
import { plannedContent, contentOf } from '../producer/planned-job.js';
import { JobEnvelope } from './formats/dq1.js';
import type { Envelope } from './header.js';
import { asText, decodePayload, encodedIn, encodePayload, type Content } from './payload.js';

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

/** Stores a string as it is, reversed. */
const TEXT: PayloadCodec = {
  name: 'reversed.text-1',
  encode: (payload: string) => Array.from(payload).toReversed().join(''),
  decode: (stored: string) => Array.from(stored).toReversed().join(''),
};
/** Stores bytes, inverted. */
const BYTES: PayloadCodec = {
  name: 'inverted',
  encode: (payload: Uint8Array) => payload.map((byte) => 255 - byte),
  decode: (stored: Buffer) => Buffer.from(stored).map((byte) => 255 - byte),
};

/** The content as a consumer reads it from a copy. */
function stored(content: Content): Content {
  const job = { id: 'job', due: 5, generation: 0, copies: 3, priority: 1 };
  return (unwrap(copyBody(new JobEnvelope(job, content), 0)) as Envelope).content;
}

function failure(work: () => unknown): DqError {
  try {
    work();
  } catch (error) {
    if (error instanceof DqError) return error;
  }
  throw new Error('it was expected to throw a DqError');
}

describe('a payload that a codec writes', () => {
  it.each(['', 'text', 'üñí 🐇\r\n\0', '{"a":1}', 'codec other text\n'])(
    'comes back: the string %p',
    (text) => {
      expect(decodePayload(stored(encodePayload(text, TEXT)), { codec: TEXT })).toBe(text);
    },
  );

  it('comes back: bytes, each of the 256, and none', () => {
    for (const bytes of [ALL_BYTES, new Uint8Array(), Buffer.from('\n\r')]) {
      const back = decodePayload(stored(encodePayload(bytes, BYTES)), { codec: BYTES });
      expect(Buffer.from(bytes).equals(back as Buffer)).toBe(true);
    }
  });

  it('is given to `decode` as `encode` returned it: a string, or a Buffer', () => {
    const seen: unknown[] = [];
    const reading = (codec: PayloadCodec) => ({
      codec: { ...codec, decode: (got: unknown) => void seen.push(got) },
    });
    decodePayload(stored(encodePayload('äb', TEXT)), reading(TEXT));
    decodePayload(stored(encodePayload(Buffer.from([1, 2]), BYTES)), reading(BYTES));
    expect(seen).toEqual(['bä', Buffer.from([254, 253])]);
    expect(Buffer.isBuffer(seen[1])).toBe(true);
  });

  it('is nothing if it is undefined, and then the codec is not asked', () => {
    const never = {
      name: 'never',
      encode: () => {
        throw new Error('asked');
      },
      decode: () => 5,
    };
    const content = encodePayload(undefined, never);
    expect(content).toEqual({ type: 'void', bytes: '' });
    expect(decodePayload(stored(content), { codec: never })).toBeUndefined();
  });

  it('is what the codec returned at the call, whatever it writes into its buffer later', () => {
    const buffer = Buffer.from('before');
    const content = encodePayload('x', { name: 'reuses', encode: () => buffer, decode: String });
    buffer.fill(0);
    expect(decodePayload(content, { codec: { ...BYTES, name: 'reuses', decode: String } })).toBe('before');
  });

  it('has its size as its length, so that a string of it is ASCII', () => {
    expect(typeof encodePayload('ab', TEXT).bytes).toBe('string');
    expect(Buffer.isBuffer(encodePayload('ä', TEXT).bytes)).toBe(true);
  });

  it('is refused by whoever knows no codecs, as JSON that is none', () => {
    for (const content of [encodePayload('{"a":1}', TEXT), encodePayload(ALL_BYTES, BYTES)]) {
      const { type, bytes } = stored(content);
      expect(type).toBe('json'); // so that the header is that of a payload without a codec
      expect(() => JSON.parse(bytes.toString())).toThrow(SyntaxError);
    }
  });

  it('is read by codecs of `alsoReads`, and JSON next to any of them', () => {
    const content = stored(encodePayload('text', TEXT));
    expect(decodePayload(content, { alsoReads: [BYTES, TEXT] })).toBe('text');
    expect(decodePayload(content, { codec: BYTES, alsoReads: [TEXT] })).toBe('text');
    for (const payload of [
      { at: 'json' },
      'codec reversed.text-1 text\nxyz',
      Buffer.from('codec a text\n'),
    ]) {
      expect(decodePayload(stored(encodePayload(payload)), { codec: TEXT })).toEqual(payload);
    }
  });

  it.each([
    ['no codec', undefined, 'reads none'],
    ['another codec', { codec: BYTES }, 'reads "inverted"'],
    ['other codecs', { codec: BYTES, alsoReads: [{ ...TEXT, name: 'x' }] }, 'reads "inverted", "x"'],
  ])('is refused where there is %s, by name', (_where, codecs, said) => {
    const error = failure(() => decodePayload(stored(encodePayload('text', TEXT)), codecs));
    expect(error.code).toBe('DQ_BAD_PAYLOAD');
    expect(error.message).toContain('encoded with the codec "reversed.text-1"');
    expect(error.message).toContain(said);
  });

  it('is shown with the name of its codec, and added again as it is', () => {
    for (const content of [encodePayload('ähm', TEXT), encodePayload(ALL_BYTES, BYTES)]) {
      const found = encodedIn(stored(content))!;
      expect(found).toBeInstanceOf(EncodedPayload);
      expect(stored(encodePayload(found))).toEqual(stored(content));
    }
    expect(JSON.stringify(encodedIn(encodePayload('ab', TEXT)))).toBe(
      '{"codec":"reversed.text-1","text":"ba"}',
    );
    expect(JSON.stringify(encodedIn(encodePayload(Buffer.from([0]), BYTES)))).toBe(
      '{"codec":"inverted","base64":"/w=="}',
    );
    expect(encodedIn(encodePayload({ a: 1 }))).toBeUndefined();
    expect(encodedIn(encodePayload('codec a text\n'))).toBeUndefined();
  });

  it('is the same as text, which survives JSON', () => {
    for (const [payload, codec] of [
      ['üñí 🐇', TEXT],
      [ALL_BYTES, BYTES],
    ] as const) {
      const planned = JSON.stringify(plannedContent(asText(encodePayload(payload, codec))));
      const content = stored(contentOf(JSON.parse(planned) as ReturnType<typeof plannedContent>));
      expect(decodePayload(content, { codec })).toEqual(payload);
    }
    const json = encodePayload({ a: 1 });
    expect(asText(json)).toBe(json);
  });
});

describe('a codec that fails', () => {
  const CAUSE = new Error('no such type');
  const FAILING: PayloadCodec = {
    name: 'failing',
    encode: () => {
      throw CAUSE;
    },
    decode: () => {
      throw CAUSE;
    },
  };

  it('is named in the error, which has its own as the cause', () => {
    const encoding = failure(() => encodePayload(5, FAILING));
    expect([encoding.code, encoding.message, encoding.cause]).toEqual([
      'DQ_BAD_PAYLOAD',
      `DQ_BAD_PAYLOAD: the codec "failing" can't encode the payload: no such type`,
      CAUSE,
    ]);
    const content = encodePayload(5, { ...FAILING, encode: () => 'five' });
    const decoding = failure(() => decodePayload(content, { codec: FAILING }));
    expect([decoding.code, decoding.message, decoding.cause]).toEqual([
      'DQ_BAD_PAYLOAD',
      `DQ_BAD_PAYLOAD: the codec "failing" can't decode the stored payload: no such type`,
      CAUSE,
    ]);
  });

  it.each<[unknown, string]>([
    [{ a: 1 }, '{"a":1}'],
    [undefined, 'undefined'],
    [5, '5'],
    [Promise.resolve('x'), 'a promise'],
  ])('must not encode to %p', (returned, said) => {
    const error = failure(() => encodePayload(5, { ...FAILING, encode: () => returned as string }));
    expect(error.message).toBe(
      `DQ_BAD_PAYLOAD: the codec "failing" encoded the payload as ${said}: expected a string or a Uint8Array`,
    );
  });

  it('must not encode to half a character, which no server would keep', () => {
    expect(failure(() => encodePayload(5, { ...FAILING, encode: () => '\ud83d' })).message).toContain(
      'lone surrogate',
    );
  });

  it('must not decode to a promise, and its rejection ends nothing', () => {
    const content = encodePayload(5, { ...FAILING, encode: () => 'five' });
    const codec = { ...FAILING, decode: () => Promise.reject(CAUSE) };
    expect(failure(() => decodePayload(content, { codec })).message).toContain(
      'to a promise: expected the payload',
    );
  });
});
