import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { storedTube } from '../api/tube.js';
import type { DeletingParts } from '../copies/deletion.js';
import { DeferredDeletions, MAX_WAITING } from './deferred-deletions.js';

const TUBE = storedTube('t', '');

describe('DeferredDeletions', () => {
  let clock: VirtualClock;
  /** The locations of the copies that the nodes were asked to delete, and that they have not answered. */
  let asked: Map<string, () => void>;
  let deletions: DeferredDeletions;

  beforeEach(() => {
    clock = new VirtualClock();
    asked = new Map();
    const cluster = {
      settings: {},
      delete: (location: string, _isSame: unknown, done: (result: 'deleted') => void) =>
        asked.set(location, () => done('deleted')),
    };
    const settleQueue = { add: () => undefined };
    deletions = new DeferredDeletions({ cluster, settleQueue } as unknown as DeletingParts, clock);
  });

  const add = (id: string) => deletions.add(TUBE, { id, generation: 0 }, [{ index: 0, location: id }]);
  const addMany = (name: string, count: number) =>
    Array.from({ length: count }, (_, i) => add(`${name}${i}`)).filter((room) => room !== undefined);

  /** The nodes answer what they were asked. */
  async function answer(): Promise<void> {
    const answers = [...asked.values()];
    asked.clear();
    for (const each of answers) each();
    await clock.advance(0);
  }

  it('deletes at once, and all of one tick together', async () => {
    void add('a');
    void add('b');
    expect(asked.size).toBe(0);
    await clock.advance(0);
    expect([...asked.keys()]).toEqual(['a', 'b']);
    await answer();
    void add('c');
    await clock.advance(0);
    expect([...asked.keys()]).toEqual(['c']);
  });

  it('keeps what comes meanwhile until the nodes have answered and 50 ms have passed', async () => {
    void add('a');
    await clock.advance(0);
    void add('b');
    await clock.advance(100);
    expect([...asked.keys()]).toEqual(['a']);
    await answer();
    await clock.advance(49);
    expect(asked.size).toBe(0);
    void add('c');
    await clock.advance(1);
    expect([...asked.keys()]).toEqual(['b', 'c']);
  });

  it('takes some at a time, and makes no pause once nothing more comes', async () => {
    expect(addMany('a', 1_200)).toEqual([]);
    await clock.advance(0);
    expect(asked.size).toBe(512);
    await answer();
    expect(asked.size).toBe(512);
    await answer();
    expect(asked.size).toBe(176);
    await answer();
    expect(asked.size).toBe(0);
  });

  it('takes an eighth of what waits, if that is more', async () => {
    expect(addMany('a', 8_000)).toEqual([]);
    await clock.advance(0);
    expect(asked.size).toBe(1_000);
  });

  it('makes a revoke wait where too much waits already, until some of it was sent', async () => {
    void add('first');
    await clock.advance(0);
    expect(addMany('a', MAX_WAITING)).toEqual([]);
    const blocked = addMany('b', 10_000);
    expect(blocked).toHaveLength(10_000);
    let letIn = 0;
    for (const room of blocked) void room.then(() => letIn++);
    await clock.advance(1_000);
    expect(letIn).toBe(0);
    await answer();
    await clock.advance(50);
    expect([letIn, asked.size]).toEqual([7_500, 7_500]); // an eighth of 60,000
    await answer();
    expect(letIn).toBe(10_000);
  });

  describe('at its close', () => {
    const closing = async () => {
      let closed = false;
      void deletions.close().then(() => (closed = true));
      await clock.advance(0);
      return () => closed;
    };

    it('waits for all deletions, without a pause', async () => {
      void add('a');
      await clock.advance(0);
      void add('b');
      await answer();
      const closed = await closing();
      expect([[...asked.keys()], closed()]).toEqual([['b'], false]);
      void add('c');
      await answer();
      expect([[...asked.keys()], closed()]).toEqual([['c'], false]);
      await answer();
      expect(closed()).toBe(true);
      await deletions.close();
    });

    it('waits no longer than half a second for a node that does not answer', async () => {
      void add('a');
      const closed = await closing();
      await clock.advance(499);
      expect(closed()).toBe(false);
      await clock.advance(1);
      expect(closed()).toBe(true);
    });

    it('has nothing to wait for where nothing was revoked', async () => {
      expect((await closing())()).toBe(true);
    });
  });
});
