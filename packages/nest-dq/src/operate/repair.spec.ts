import { describe, expect, it } from '@jest/globals';
import { wipeable } from '../../spec-support/wiped-nodes.js';
import type { BulkProgress } from './bulk.js';
import type { RepairExample, RepairOptions } from './repair.js';

const HOUR = 3_600_000;
/** The endpoint of the first node. */
const FIRST = 'n0:1';

async function world(count?: number, prefix?: string) {
  const found = await wipeable(count, prefix);
  const { control } = found;
  const repaired = async (options?: RepairOptions) => {
    let last: BulkProgress<RepairExample> | undefined;
    const act = async () => {
      for await (const progress of control.repair(options)) last = progress;
    };
    await found.after(10_000, act());
    return last!;
  };
  return Object.assign(found, { repaired });
}

describe('repair', () => {
  it('moves each job that misses a copy to its own instant, so that it has all of them', async () => {
    const { add, wipe, repaired, present, producer, events } = await world();
    const told = events.collect('operated');
    const receipts = await add([1, 2, 3, 4, 5, 6, 7, 8].map((hours) => hours * HOUR));
    await wipe(0);
    const lost = 24 - (await present()).length;
    expect(lost).toBe(6);
    expect(await repaired({ by: 'ann' })).toEqual({
      done: lost,
      failed: 0,
      skipped: 0,
      failures: [],
      examples: [],
    });
    expect(await present()).toHaveLength(24);
    for (const receipt of receipts) {
      expect(await producer.find(receipt)).toMatchObject({ state: 'waiting', dueAt: receipt.dueAt });
    }
    expect(told).toEqual([{ by: 'ann', act: 'repair', on: {}, count: lost }]);
    expect(await repaired()).toMatchObject({ done: 0, failed: 0, skipped: 0 });
  });

  it('only counts in a dry run, and shows examples', async () => {
    const { add, wipe, repaired, copies } = await world(4, 'app.');
    const [receipt] = await add([HOUR]);
    await wipe(0);
    const { id, dueAt } = receipt!;
    expect(await repaired({ dryRun: true })).toMatchObject({
      done: 1,
      examples: [{ id, tube: 't', dueAt, missing: 1 }],
    });
    expect(await copies('app.t')).toHaveLength(2);
  });

  it('leaves alone a node that is away, unless it is declared lost', async () => {
    const { add, cut, repaired, present } = await world();
    await add([HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR]);
    await cut(0);
    expect(await repaired()).toMatchObject({ done: 0, failed: 0 });
    expect(await repaired({ node: FIRST })).toMatchObject({ done: 3, failed: 0 });
    expect(await present()).toHaveLength(12);
  });

  it('moves nothing where no node could take another copy', async () => {
    const { add, cut, repaired } = await world(3);
    await add([HOUR]);
    await cut(0);
    expect(await repaired({ node: FIRST })).toMatchObject({ done: 0, failed: 0, skipped: 0 });
  });

  it('takes all copies from a drained node', async () => {
    const { add, repaired, present, nodes, control } = await world();
    await add([HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR]);
    await control.drainNode(FIRST);
    nodes[0]!.drained = true; // as its process does with its next news
    expect(await repaired()).toMatchObject({ done: 3, failed: 0 });
    expect(new Set((await present()).map(({ node }) => node))).toEqual(new Set([1, 2, 3]));
  });

  it('leaves jobs alone that are due soon, that wait for a retry, or of another tube', async () => {
    const { add, wipe, repaired, producer, clock, copies, run } = await world();
    await producer.delay('t', 'it fails once', 30_000, { key: 'k' }); // so its places are known
    await add([2 * HOUR]);
    await add([HOUR], 'other');
    const first = (await copies()).find(({ header }) => header.key === 'k')!;
    await clock.advance(30_000);
    await (await run(first)).finish('retry', { due: clock.wall() + HOUR });
    await wipe(0);
    await wipe(1);
    expect(await repaired({ tube: 't', dueAfter: '3h' })).toMatchObject({ done: 0, failed: 0 });
    expect(await repaired({ tube: 't' })).toMatchObject({ done: 1, failed: 0 });
    expect(await repaired()).toMatchObject({ done: 1, failed: 0 });
  });

  it('counts a job as failed that has no copy in reach, and names it', async () => {
    const { add, wipe, repaired } = await world(3);
    const [receipt] = await add([HOUR]);
    for (const node of [0, 1, 2]) await wipe(node);
    const { failed, failures } = await repaired({ tube: 't' });
    expect(failed).toBe(1);
    expect(failures).toEqual([{ id: receipt!.id, error: expect.objectContaining({ code: 'DQ_NO_COPY' }) }]);
  });

  it('leaves alone a job that someone else moves in between', async () => {
    const { add, wipe, repaired, producer, process, ledger, clock } = await world();
    const [receipt] = await add([HOUR]);
    await wipe(0);
    const other = process().producer;
    let isMoved = false;
    ledger.gate = async (verb) => {
      if (verb !== 'find' || isMoved) return;
      isMoved = true;
      await other.reschedule(receipt!, { delay: 5 * HOUR });
    };
    const before = clock.wall();
    expect(await repaired()).toMatchObject({ done: 0, failed: 0, skipped: 1 });
    expect((await producer.find(receipt!))!.dueAt.getTime()).toBeGreaterThanOrEqual(before + 5 * HOUR);
  });

  it('continues from a cursor, across tubes', async () => {
    const { add, wipe, control, after } = await world();
    await add([HOUR], 'a');
    await add([HOUR], 'b');
    await wipe(0);
    await wipe(1);
    const [first] = await after(10_000, firstOf(control.repair()));
    expect(first).toMatchObject({ done: 1, cursor: expect.any(String) });
    const [second, ...more] = await after(10_000, all(control.repair({ cursor: first!.cursor! })));
    expect([second, more]).toMatchObject([{ done: 1 }, []]);
  });

  it.each([
    [{ node: 'n9:1' }, /^DQ_BAD_OPTION: unknown node "n9:1".*: expected one of n0:1, n1:1, n2:1, n3:1$/],
    [{ cursor: 'x' }, /^DQ_BAD_OPTION: `cursor` is "x": expected the `cursor` of a previous `repair`$/],
    [{ dueAfter: 'soon' as '1m' }, /^DQ_BAD_DURATION: /],
  ])('refuses %j', async (options, message) => {
    const { control } = await world();
    expect(() => control.repair(options)).toThrow(message);
  });
});

/** The first page, behind the progress that comes before anything is changed. */
async function firstOf<T extends { readonly done: number }>(act: AsyncIterable<T>): Promise<T[]> {
  for await (const progress of act) if (progress.done > 0) return [progress];
  return [];
}

async function all<T>(act: AsyncIterable<T>): Promise<T[]> {
  const told: T[] = [];
  for await (const progress of act) told.push(progress);
  return told;
}
