// The bytes of a copy in the hands of somebody without the key. All texts are Latin-1: one character for each byte.

/** A copy as it lies on a node. */
export interface Copy {
  /** Which of the nodes. */
  readonly node: number;
  readonly id: string;
  readonly tube: string;
  readonly state: string;
  readonly body: string;
}

/** The parts of a copy. */
export interface Parts {
  /** Its first line, with the mark. */
  readonly open: string;
  /** Its second line. Undefined: it is not sealed, and its fields are in the first one. */
  readonly own: string | undefined;
  /** Proof that the second line is one of this job's. Empty: it is not sealed. */
  readonly proof: string;
  /** The seal and what is encrypted, or the payload. */
  readonly rest: string;
}

/** Bytes of a proof. */
export const PROOF_BYTES = 16;
/** Bytes of a seal: salt, nonce and tag. */
export const SEAL_BYTES = 44;

export function partsOf(body: string): Parts {
  const end = body.indexOf('\n');
  const open = body.slice(0, end);
  if (!body.startsWith('dqs ')) return { open, own: undefined, proof: '', rest: body.slice(end + 1) };
  const proofAt = body.indexOf('\n', end + 1) + 1;
  const restAt = proofAt + PROOF_BYTES;
  return {
    open,
    own: body.slice(end + 1, proofAt - 1),
    proof: body.slice(proofAt, restAt),
    rest: body.slice(restAt),
  };
}

export function bodyOf({ open, own, proof, rest }: Parts): string {
  return own === undefined ? `${open}\n${rest}` : `${open}\n${own}\n${proof}${rest}`;
}

/** Returns the fields that anybody can read. Throws if it is no copy of a job of ours. */
export function identityOf({ body }: Pick<Copy, 'body'>): { readonly id: string; readonly due: number } {
  const [, id, due] = /^dq(?:1|s [\w.-]+ \d+) \{"id":"([^"]+)","due":(\d+)/.exec(body) ?? [];
  if (id === undefined) throw new Error(`no copy of a job: ${JSON.stringify(body.slice(0, 80))}`);
  return { id, due: Number(due) };
}

export function isPrimary({ body }: Pick<Copy, 'body'>): boolean {
  return /"i":0[,}\n]/.test(body);
}

/** The same bytes with this due time in the header. */
export function withDue(body: string, due: number): string {
  return body.replace(/"due":\d+/, `"due":${due}`);
}

/** The same bytes, and in its list of siblings these places. */
export function withSiblings(body: string, places: readonly string[]): string {
  const list = places.map((place, i) => `[${i + 1},"${place}"]`).join(',');
  return body.replace(/"l":\[\[.*?\]\]/, `"l":[${list}]`);
}

/** The same bytes with one bit of one of them changed. */
export function withFlippedBit(body: string, at: number): string {
  return body.slice(0, at) + String.fromCharCode(body.charCodeAt(at) ^ 1) + body.slice(at + 1);
}
