import { describe, expect, it } from '@jest/globals';
import { assignPartitions, keyOf } from './assignment.js';
import type { TopicPartition } from './message.js';

const ORDERS = new Map([['orders', 4]]);

function member(id: string, topics = ['orders'], owned: readonly TopicPartition[] = []) {
  return { id, topics, owned };
}

function shown(assigned: ReadonlyMap<string, readonly TopicPartition[]>) {
  return Object.fromEntries([...assigned].map(([id, partitions]) => [id, partitions.map(keyOf).join(' ')]));
}

describe('assignPartitions', () => {
  it('shares the partitions evenly', () => {
    expect(shown(assignPartitions(ORDERS, [member('b'), member('a')]))).toEqual({
      a: 'orders/0 orders/2',
      b: 'orders/1 orders/3',
    });
  });

  it('leaves a member without any where there are more members than partitions', () => {
    const one = new Map([['orders', 1]]);
    expect(shown(assignPartitions(one, [member('a'), member('b')]))).toEqual({ a: 'orders/0', b: '' });
  });

  it('gives a partition only to those that have subscribed to its topic', () => {
    const topics = new Map([
      ['orders', 2],
      ['bills', 2],
      ['unread', 1],
    ]);
    const assigned = assignPartitions(topics, [member('a', ['orders', 'bills']), member('b', ['bills'])]);
    expect(shown(assigned)).toEqual({ a: 'orders/0 orders/1', b: 'bills/0 bills/1' });
  });

  it('moves no more than it must when a member comes', () => {
    const first = assignPartitions(new Map([['orders', 6]]), [member('b'), member('c')]);
    const next = assignPartitions(new Map([['orders', 6]]), [
      member('a'),
      member('b', ['orders'], first.get('b')),
      member('c', ['orders'], first.get('c')),
    ]);
    for (const id of ['b', 'c']) {
      const before = first.get(id)?.map(keyOf) ?? [];
      expect(before).toEqual(expect.arrayContaining(next.get(id)?.map(keyOf) ?? ['none']));
      expect(next.get(id)).toHaveLength(2);
    }
    expect(next.get('a')).toHaveLength(2);
  });

  it('moves nothing where it is even when a member goes', () => {
    const first = assignPartitions(ORDERS, [member('a'), member('b'), member('c')]);
    const next = assignPartitions(ORDERS, [
      member('a', ['orders'], first.get('a')),
      member('c', ['orders'], first.get('c')),
    ]);
    expect(next.get('a')?.map(keyOf)).toEqual(expect.arrayContaining(first.get('a')?.map(keyOf) ?? ['none']));
    expect(next.get('c')?.map(keyOf)).toEqual(expect.arrayContaining(first.get('c')?.map(keyOf) ?? ['none']));
  });

  it('gives a partition once that two claim, and none that the topic does not have', () => {
    const claimed = [
      { topic: 'orders', partition: 0 },
      { topic: 'orders', partition: 9 },
      { topic: 'gone', partition: 0 },
    ];
    const assigned = assignPartitions(ORDERS, [
      member('a', ['orders', 'gone'], claimed),
      member('b', ['orders'], claimed),
    ]);
    expect([...assigned.values()].flat().map(keyOf).sort()).toEqual([
      'orders/0',
      'orders/1',
      'orders/2',
      'orders/3',
    ]);
  });
});
