import { describe, expect, it } from '@jest/globals';
import type { OutgoingMessage } from '../message.js';
import { groupBy, place, requestsOf } from './requests.js';
import { leadersOf } from './topics.js';

function of(over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: null, value: Buffer.from('v'), ...over };
}

const TWO = leadersOf([1, 2]);

const placedOf = (messages: readonly OutgoingMessage[]) => place('t', messages, TWO, 0).placed;
const counts = (messages: readonly OutgoingMessage[]) =>
  [...requestsOf(placedOf(messages))].map((request) => request.length);

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

  it.each([2, -1, 0.5, NaN])('finds partition %s wrong, and goes on with the others', (partition) => {
    const { placed, wrong } = place('t', [of(), of({ partition }), of()], TWO, 0);
    expect(placed.map(({ index }) => index)).toEqual([0, 2]);
    expect(wrong.get(1)).toMatchObject({
      code: 'KQ_BAD_MESSAGE',
      message: `KQ_BAD_MESSAGE: the partition of t is ${partition}: expected 0 to 1`,
    });
  });
});

describe('requestsOf', () => {
  it('has at most 500 messages of a partition in one request', () => {
    const messages = Array.from({ length: 1_200 }, (_, n) => of({ partition: n % 2 }));
    expect(counts(messages)).toEqual([1_000, 200]);
    expect(counts(messages.map((each) => ({ ...each, partition: 0 })))).toEqual([500, 500, 200]);
  });

  it('has at most 900,000 bytes of a partition in one request, and a larger message alone in its partition', () => {
    const sized = (size: number, partition = 0) => of({ value: Buffer.alloc(size), partition });
    expect(counts([sized(500_000), sized(300_000), sized(200_000)])).toEqual([2, 1]);
    expect(counts([sized(10), sized(2_000_000), sized(10)])).toEqual([1, 1, 1]);
    expect(counts([sized(800_000), sized(800_000, 1)])).toEqual([2]);
  });

  it('counts keys and headers', () => {
    const bytes = Buffer.alloc(300_000);
    expect(
      counts([of({ key: bytes, headers: { a: [bytes, bytes] }, partition: 0 }), of({ partition: 0 })]),
    ).toEqual([1, 1]);
  });

  it('keeps the order, and is none of nothing', () => {
    const messages = Array.from({ length: 1_001 }, () => of({ partition: 1 }));
    const indexes = [...requestsOf(placedOf(messages))].flat().map(({ index }) => index);
    expect(indexes).toEqual(messages.map((_, index) => index));
    expect(counts([])).toEqual([]);
  });
});

describe('groupBy', () => {
  it('keeps the order within each group', () => {
    const placed = placedOf([0, 1, 0, 1, 1].map((partition) => of({ partition })));
    const groups = groupBy(placed, (partition) => partition);
    expect(groups.map((group) => group.map(({ index }) => index))).toEqual([
      [0, 2],
      [1, 3, 4],
    ]);
  });
});
