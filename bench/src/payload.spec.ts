import { describe, expect, it } from '@jest/globals';
import { PAYLOAD_BYTES, payloadOf, payloads } from './payload.js';

describe('payloadOf', () => {
  it.each([
    [0, 0],
    [999_999, 1_790_000_000_000],
    [12, 1_790_000_000_000.5],
  ])('has the same size as JSON whatever it says: job %d, due %d', (n, due) => {
    const payload = payloadOf(n, due);
    expect(payload).toMatchObject({ n, due });
    expect(Buffer.byteLength(JSON.stringify(payload))).toBe(PAYLOAD_BYTES);
  });
});

describe('payloads', () => {
  it('numbers them, each due as the rule says', () => {
    const made = payloads(3, (n) => 100 + n);
    expect(made.map(({ n, due }) => [n, due])).toEqual([
      [0, 100],
      [1, 101],
      [2, 102],
    ]);
  });
});
