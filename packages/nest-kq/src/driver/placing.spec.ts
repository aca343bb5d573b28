import { describe, expect, it } from '@jest/globals';
import type { OutgoingMessage } from './message.js';
import { place } from './placing.js';
import { leadersOf } from './topic-leaders.js';

function of(over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: null, value: Buffer.from('v'), ...over };
}

describe('place', () => {
  it('takes the partition that is named, then that of the key, then that of the call', () => {
    const key = Buffer.from('21'); // in the last of 7 partitions by Java's hash
    const { placed, wrong } = place(
      't',
      [of({ partition: 3, key }), of({ key }), of(), of()],
      leadersOf(Array(7).fill(1)),
      9,
    );
    expect(placed.map(({ partition }) => partition)).toEqual([3, (-973932308 & 0x7fffffff) % 7, 2, 2]);
    expect(wrong.size).toBe(0);
  });

  it('gives a message without a key to a partition that has a leader', () => {
    const keyless = (calls: number, leaders: readonly number[]) =>
      Array.from(
        { length: calls },
        (_, call) => place('t', [of()], leadersOf(leaders), call).placed[0]?.partition,
      );
    expect(keyless(4, [1, -1, 2])).toEqual([0, 2, 0, 2]);
    expect(keyless(3, [-1, -1])).toEqual([0, 1, 0]);
  });

  it.each([2, -1, 0.5, NaN])('rejects partition %s, and continues with the others', (partition) => {
    const { placed, wrong } = place('t', [of(), of({ partition }), of()], leadersOf([1, 2]), 0);
    expect(placed.map(({ index }) => index)).toEqual([0, 2]);
    expect(wrong.get(1)).toMatchObject({
      code: 'KQ_BAD_MESSAGE',
      message: `KQ_BAD_MESSAGE: the partition of t is ${partition}: expected 0 to 1`,
    });
  });
});
