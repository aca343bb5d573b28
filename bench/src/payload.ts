/** A payload is 200 bytes of JSON. */
export const PAYLOAD_BYTES = 200;

export interface Payload {
  /** The number of the job in its round, from 0. */
  readonly n: number;
  /** When the job is due, in ms since 1970. 0 if the measure does not use it. */
  readonly due: number;
  readonly text: string;
}

const FRAME = JSON.stringify({ n: 0, due: 0, text: '' }).length - 2;
const FILL = 'nest-dq '.repeat(PAYLOAD_BYTES / 8);

export function payloadOf(n: number, due = 0): Payload {
  return { n, due, text: FILL.slice(FRAME + String(n).length + String(due).length) };
}

/** Makes all payloads of a round before its time is measured. */
export function payloads(count: number, due: number | ((n: number) => number) = 0): Payload[] {
  return Array.from({ length: count }, (_, n) => payloadOf(n, typeof due === 'number' ? due : due(n)));
}
