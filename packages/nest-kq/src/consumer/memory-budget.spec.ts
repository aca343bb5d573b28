import { describe, expect, it } from '@jest/globals';
import { MemoryBudget } from './memory-budget.js';
import { PartitionWork, type WorkOwner } from './partition-work.js';

const KB = 1_000;
let offset = 0n;

/** Partitions under one budget, each with messages of 10 KB. */
function partitions(count: number, budget: MemoryBudget): PartitionWork[] {
  return Array.from({ length: count }, (_, partition) => {
    const place = { topic: 't', partition };
    return new PartitionWork(place, 'none', { messages: 1_000, budget }, {} as WorkOwner);
  });
}

function fetched(work: PartitionWork, messages: number): void {
  const value = Buffer.alloc(10 * KB);
  const list = Array.from({ length: messages }, () => {
    return { offset: offset++, timestamp: 0, key: null, value, headers: {} };
  });
  work.add({ ...work.place, messages: list, next: offset, end: offset });
}

function handled(work: PartitionWork, messages: number): void {
  work.settle(work.take(messages), [], false);
}

describe('MemoryBudget', () => {
  it('lets each partition have its share, and at least one batch, whatever the others hold', () => {
    const budget = new MemoryBudget(1_000 * KB);
    const [greedy, ...others] = partitions(5, budget);
    for (let batches = 0; !greedy!.full; batches++) fetched(greedy!, 5);
    expect(budget.fetched).toBeGreaterThanOrEqual(500 * KB);
    expect(budget.fetched).toBeLessThan(560 * KB);
    for (const other of others) {
      expect(other.full).toBe(false);
      fetched(other, 9);
      expect(other.full).toBe(false);
      fetched(other, 1);
      expect(other.full).toBe(true);
    }
    expect(budget.fetched).toBeLessThan(1_000 * KB);
  });

  it('resumes a partition once it is half below its share, or memory is plentiful again', () => {
    let pushing = 0;
    const budget = new MemoryBudget(1_000 * KB, () => pushing);
    const [one, other] = partitions(2, budget);
    while (!other!.full) fetched(other!, 5);
    while (!one!.full) fetched(one!, 5);
    expect([one!.roomy, other!.roomy]).toEqual([false, false]);
    pushing = 500 * KB;
    handled(other!, 40);
    expect([one!.roomy, other!.roomy]).toEqual([false, true]);
    pushing = 0;
    expect([one!.roomy, other!.roomy, one!.full]).toEqual([true, true, false]);
  });

  it('counts pushed messages, and no longer those of a lost partition', () => {
    let pushing = 0;
    const budget = new MemoryBudget(1_000 * KB, () => pushing);
    const [one, other] = partitions(2, budget);
    fetched(one!, 30);
    expect(one!.full).toBe(false);
    pushing = 500 * KB;
    expect(one!.full).toBe(true);
    expect(other!.full).toBe(false);
    pushing = 0;
    fetched(other!, 30);
    expect(one!.full).toBe(true);
    other!.lose();
    other!.lose();
    expect(budget.fetched).toBeLessThan(310 * KB);
    expect([one!.full, budget.share]).toEqual([false, 500 * KB]);
  });

  it('bounds the fetch of a partition by half of its share, down to 64 KB', () => {
    const budget = new MemoryBudget(64 * 2 ** 20);
    partitions(64, budget);
    expect(budget.fetchBytes).toBe(2 ** 18);
    partitions(10_000, budget);
    expect(budget.fetchBytes).toBe(2 ** 16);
  });
});
