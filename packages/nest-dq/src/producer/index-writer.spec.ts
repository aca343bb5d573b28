import { describe, expect, it } from '@jest/globals';
import { stored } from '../../spec-support/stored.js';
import type { Ledger, TubeLedger } from '../ledger/ledger.js';
import type { IndexAnswer, IndexRequest } from '../ledger/requests.js';
import { VirtualClock } from 'nest-handlers/testing';
import { IndexWriter } from './index-writer.js';

const TUBE = stored('t');

/** A ledger whose calls take 5 ms, unless it is away. */
function setUp() {
  const clock = new VirtualClock();
  const calls: { at: number; tube: string; ids: string[] }[] = [];
  const state = { away: false, answer: 'listed' as IndexAnswer, underWay: 0, most: 0 };
  const tubeOf = (tube: string) => ({
    ask: async (_verb: 'index', jobs: readonly IndexRequest[]) => {
      calls.push({ at: clock.now(), tube, ids: jobs.map(({ id }) => id) });
      state.most = Math.max(state.most, ++state.underWay);
      await new Promise<void>((resolve) => clock.after(5, resolve));
      state.underWay--;
      if (state.away) throw new Error('away');
      return jobs.map(() => state.answer);
    },
  });
  const ledger = { tube: (name: string) => tubeOf(name) as unknown as TubeLedger } as unknown as Ledger;
  const writer = new IndexWriter(ledger, clock);
  let made = 0;
  const add = (count = 1, tube = TUBE) => {
    for (let i = 0; i < count; i++) writer.add(tube, { id: `job-${made++}`, due: 0, places: [] });
  };
  return { clock, calls, state, writer, add };
}

describe('an index writer', () => {
  it('writes what comes within 50 ms with one call, and what comes during a call with the next one', async () => {
    const { clock, calls, state, add } = setUp();
    add(2);
    await clock.advance(49);
    add();
    expect(calls).toEqual([]);
    await clock.advance(1);
    add(2);
    await clock.advance(100);
    expect(calls.map(({ ids }) => ids)).toEqual([
      ['job-0', 'job-1', 'job-2'],
      ['job-3', 'job-4'],
    ]);
    expect(state.most).toBe(1);
  });

  it('has calls of 256 jobs at most, and four of them at a time in a short burst', async () => {
    const { clock, calls, state, add } = setUp();
    add(1_200);
    await clock.advance(200);
    expect(calls.map(({ ids }) => ids.length)).toEqual([256, 256, 256, 256, 176]);
    expect(new Set(calls.flatMap(({ ids }) => ids)).size).toBe(1_200);
    expect(state.most).toBe(4);
  });

  it('sends an eighth of what waits, where that is more than four calls', async () => {
    const { clock, calls, add } = setUp();
    add(80_000);
    await clock.advance(50);
    expect(calls.flatMap(({ ids }) => ids)).toHaveLength(10_000);
    expect(calls.every(({ ids }) => ids.length <= 256)).toBe(true);
  });

  it('has a call of its own for each tube', async () => {
    const { clock, calls, state, add } = setUp();
    add();
    add(1, stored('other'));
    await clock.advance(100);
    expect(calls.map(({ tube }) => tube)).toEqual(['t', 'other']);
    expect(state.most).toBe(2);
  });

  it('keeps the jobs while the ledger is away, drops those beyond the bound, and counts them', async () => {
    const { clock, calls, state, writer, add } = setUp();
    state.away = true;
    add(100_002);
    await clock.advance(2_000);
    expect(writer.unlisted).toBe(2);
    expect(new Set(calls.map(({ at }) => at)).size).toBeLessThan(6);
    state.away = false;
    const before = calls.length;
    await clock.advance(10_000);
    expect(new Set(calls.slice(before).flatMap(({ ids }) => ids)).size).toBe(100_000);
    add();
    await clock.advance(100);
    expect(calls.at(-1)!.ids).toEqual(['job-100002']);
    expect(writer.unlisted).toBe(2);
  });

  it('counts the jobs for which the index has no room', async () => {
    const { clock, state, writer, add } = setUp();
    state.answer = 'full';
    add(3);
    await clock.advance(100);
    expect(writer.unlisted).toBe(3);
  });

  it('resolves when the jobs added before are written, and fails as the ledger does', async () => {
    const { clock, calls, state, writer, add } = setUp();
    await writer.written(TUBE);
    add(300);
    const written = writer.written(TUBE);
    await clock.advance(10);
    await written;
    expect(calls).toHaveLength(2);
    state.away = true;
    add();
    const failed = expect(writer.written(TUBE)).rejects.toThrow('away');
    await clock.advance(10);
    await failed;
  });

  it('writes at its close what it can within half a second, and nothing later', async () => {
    const { clock, calls, writer, add } = setUp();
    add(300);
    const closed = writer.close();
    await clock.advance(10);
    await closed;
    expect(calls.map(({ ids }) => ids.length)).toEqual([256, 44]);
    add();
    await clock.advance(1_000);
    expect(calls).toHaveLength(2);
    await writer.close();
  });

  it('does not wait at its close for a ledger that is away', async () => {
    const { clock, calls, state, writer, add } = setUp();
    state.away = true;
    add();
    const closed = writer.close();
    await clock.advance(500);
    await closed;
    const { length } = calls;
    await clock.advance(5_000);
    expect(calls).toHaveLength(length);
  });
});
