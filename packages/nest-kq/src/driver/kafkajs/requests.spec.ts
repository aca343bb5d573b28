import { describe, expect, it } from '@jest/globals';
import type { OutgoingMessage } from '../message.js';
import { place } from '../placing.js';
import { leadersOf } from '../topic-leaders.js';
import { groupBy, requestsOf } from './requests.js';

function of(over: Partial<OutgoingMessage> = {}): OutgoingMessage {
  return { key: null, value: Buffer.from('v'), ...over };
}

const TWO = leadersOf([1, 2]);

const placedOf = (messages: readonly OutgoingMessage[]) => place('t', messages, TWO, 0).placed;
const counts = (messages: readonly OutgoingMessage[]) =>
  [...requestsOf(placedOf(messages))].map((request) => request.length);

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
