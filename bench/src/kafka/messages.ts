/** The pushed message: about 200 bytes as JSON. */
export interface Message {
  readonly n: number;
  readonly key: string;
  /** By the clock of this process, in ms: when it was pushed. */
  at: number;
  readonly text: string;
}

const TEXT = 'x'.repeat(140);

/** With keys in turn. */
export function messages(count: number, keys: number): Message[] {
  return Array.from({ length: count }, (_, n) => ({ n, key: `key-${n % keys}`, at: 0, text: TEXT }));
}
