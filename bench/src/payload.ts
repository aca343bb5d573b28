/** A payload is 200 bytes of JSON. */
export const PAYLOAD_BYTES = 200;

export interface Payload {
  /** Which job of its round it is, from 0. */
  readonly n: number;
  /** When it is due, in ms since 1970; 0 where nobody asks. */
  readonly due: number;
  readonly text: string;
}

const FRAME = JSON.stringify({ n: 0, due: 0, text: '' }).length - 2;
const FILL = 'nest-dq '.repeat(PAYLOAD_BYTES / 8);

export function payloadOf(n: number, due = 0): Payload {
  return { n, due, text: FILL.slice(FRAME + String(n).length + String(due).length) };
}

/** So that none is made while the time is taken. */
export function payloads(count: number, due: number | ((n: number) => number) = 0): Payload[] {
  return Array.from({ length: count }, (_, n) => payloadOf(n, typeof due === 'number' ? due : due(n)));
}
