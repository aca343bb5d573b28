import { randomBytes } from 'node:crypto';
import { describe, expect, it, jest } from '@jest/globals';
import { Seal } from '../seal/seal.js';
import { wipeable } from '../../spec-support/wiped-nodes.js';
import { SelfRepair } from './self-repair.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Milliseconds within which a look follows a reason for it, and a small repair ends. */
const SOON = 20_000;
/** Milliseconds within which there is a look without a reason. */
const NOW_AND_THEN = 150_000;

/** Nodes with jobs, and a process that is elected, and repairs. */
async function world(count?: number, mostIndexed?: number) {
  const found = await wipeable(count, '', mostIndexed);
  const log: string[] = [];
  const is = { elected: true };
  const note = (message: string) => void log.push(message);
  const make = () => new SelfRepair(found.context, { elected: () => is.elected, log: note, warn: note });
  const repair = make();
  repair.start();
  const told = found.events.collect('operated');
  return Object.assign(found, { repair, make, is, log, told });
}

describe('SelfRepair', () => {
  it('restores the copies of jobs when a node has come back without them, and reports it', async () => {
    const { add, wipe, clock, present, log, told, repair } = await world();
    const [first, ...others] = await add([1, 2, 3, 4].map((hours) => hours * HOUR));
    await wipe(0);
    await clock.advance(SOON);
    expect(await present()).toHaveLength(3 * (1 + others.length));
    expect(told).toEqual([{ by: 'nest-dq', act: 'repair', on: {}, count: 3 }]);
    expect(log).toEqual([
      `job ${first!.id} of t is missing 1 of its copies: checking all of about 4 listed jobs and restoring their missing copies`,
      expect.stringMatching(
        /^repair finished after \d\.\d s: 3 jobs have all of their copies again, 0 could not be repaired, and 0 changed in the meantime$/,
      ),
    ]);
    expect(repair.left).toBe(0);
  });

  it('does nothing where all copies are there, although a node was away', async () => {
    const { add, cut, restore, clock, log, copies } = await world();
    await add([HOUR]);
    const before = await copies();
    await cut(0);
    await clock.advance(NOW_AND_THEN);
    await restore();
    await clock.advance(NOW_AND_THEN);
    expect([log, await copies()]).toEqual([
      [],
      before.map((copy) => ({ ...copy, delay: expect.any(Number) })),
    ]);
  });

  it('looks at nothing because a node was out of reach, since that loses no copy', async () => {
    const { add, cut, restore, wipe, clock, parts, repair } = await world();
    await add([HOUR]);
    repair.lookAtAll();
    await clock.advance(SOON);
    const looks = jest.spyOn(parts.waiting, 'page');
    await cut(0);
    await clock.advance(SOON);
    await restore();
    await clock.advance(SOON);
    expect(looks).not.toHaveBeenCalled();
    await wipe(0);
    await clock.advance(SOON);
    expect(looks).toHaveBeenCalled();
  });

  it('looks after it was elected, and not before', async () => {
    const { add, wipe, clock, is, repair, told } = await world();
    await add([HOUR]);
    is.elected = false;
    await wipe(0);
    await clock.advance(NOW_AND_THEN);
    expect(told).toEqual([]);
    is.elected = true;
    repair.lookAtAll();
    await clock.advance(SOON);
    expect(told).toMatchObject([{ count: 1 }]);
  });

  it('finds a loss on its own that nobody saw', async () => {
    const { add, wipe, clock, is, repair, told } = await world();
    repair.lookAtAll();
    await clock.advance(SOON);
    await add([1, 2, 3, 4].map((hours) => hours * HOUR));
    is.elected = false; // so that the return of the node is no reason to look
    await wipe(0);
    is.elected = true;
    await clock.advance(NOW_AND_THEN);
    expect(told).toMatchObject([{ count: 3 }]);
  });

  it('finds it even after many other jobs, by looking at others each time', async () => {
    const { add, wipe, clock, is, told, repair } = await world(3, 2_000);
    await add([2 * HOUR]);
    repair.lookAtAll();
    await clock.advance(SOON);
    is.elected = false;
    await wipe(0);
    await add(Array.from({ length: 1_400 }, (_, i) => HOUR + i));
    is.elected = true;
    await clock.advance(NOW_AND_THEN);
    expect(told).toEqual([]);
    await clock.advance(NOW_AND_THEN);
    expect(told).toMatchObject([{ count: 1 }]);
  });

  it('takes no copies from a drained node, nor from one that only other processes know', async () => {
    const { add, clock, nodes, repair, told, cluster } = await world(6);
    await add([HOUR]);
    nodes[0]!.drained = true;
    Object.assign(cluster, { nodes: nodes.filter((_, i) => i !== 1) });
    repair.lookAtAll();
    await clock.advance(SOON);
    expect(told).toEqual([]);
  });

  it('leaves jobs alone that are due within a minute, or have no copy at all', async () => {
    const { add, wipe, clock, told, log, copies, is } = await world(3);
    is.elected = false;
    await add([HOUR]);
    for (const node of [0, 1, 2]) await wipe(node);
    await add([55_000]);
    is.elected = true;
    await wipe(0);
    await clock.advance(SOON);
    expect(await copies()).toHaveLength(2);
    expect([told, log]).toEqual([[], []]);
  });

  it('moves at most a thousand jobs a second, and reports how many are left', async () => {
    const { add, wipe, clock, repair, told } = await world(3);
    await add(Array.from({ length: 500 }, (_, i) => HOUR + i));
    await wipe(0);
    while (repair.left === 0) await clock.advance(10);
    const begun = clock.now();
    const lefts = new Set<number>();
    while (told.length === 0) {
      await clock.advance(1);
      lefts.add(repair.left);
    }
    expect(told).toMatchObject([{ count: 500 }]);
    expect(clock.now() - begun).toBeGreaterThan(300);
    expect([...lefts].slice(-4)).toEqual([244, 116, 1, 0]);
  });

  it('does no harm when two processes repair at once', async () => {
    const { add, wipe, clock, make, repair, told, present, producer } = await world();
    const receipts = await add(Array.from({ length: 40 }, (_, i) => HOUR + i));
    const other = make();
    other.start();
    await wipe(0);
    await clock.advance(NOW_AND_THEN);
    expect(told.length).toBeGreaterThan(0);
    expect(await present()).toHaveLength(3 * 40);
    for (const receipt of receipts) {
      expect(await producer.find(receipt)).toMatchObject({ state: 'waiting', dueAt: receipt.dueAt });
    }
    expect(told.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    await Promise.all([repair.close(), other.close()]);
  });

  it('continues in the process that is elected next', async () => {
    const { add, wipe, clock, repair, is, told, present, log } = await world(3);
    await add(Array.from({ length: 500 }, (_, i) => HOUR + i));
    await wipe(0);
    while (repair.left === 0) await clock.advance(10);
    is.elected = false;
    await clock.advance(NOW_AND_THEN);
    expect(told).toMatchObject([{ by: 'nest-dq', act: 'repair' }]);
    expect(told[0]!.count).toBeLessThan(500);
    expect(log.at(-1)).toMatch(/^repair continues in the next leader; here, after/);
    is.elected = true;
    repair.lookAtAll();
    await clock.advance(SOON);
    expect(await present()).toHaveLength(3 * 500);
    expect(told[0]!.count + told[1]!.count).toBe(500);
  });

  it('says why jobs could not get their copies, such as that they are too large for a node by now', async () => {
    const { add, wipe, clock, cluster, log } = await world();
    const jobs = await add([HOUR, 2 * HOUR]);
    Object.defineProperty(cluster, 'maxJobSize', { get: () => 200 });
    Object.defineProperty(cluster.nodes[1], 'maxJobSize', { get: () => 200 });
    await wipe(0);
    await clock.advance(SOON);
    const [, over] = log;
    expect(over).toMatch(
      /: 0 jobs have all of their copies again, 1 could not be repaired, such as job \S+ \(DQ_BAD_PAYLOAD: .* expected at most 200, .*\), and 0 changed in the meantime$/,
    );
    expect(jobs.map(({ id }) => id)).toContain(/such as job (\S+) /.exec(over!)![1]);
  });

  it('starts over after the ledger failed', async () => {
    const { add, wipe, clock, ledger, told, log } = await world();
    await add([HOUR]);
    let isAway = true;
    ledger.gate = (verb) =>
      isAway && verb === 'open' ? Promise.reject(new Error('it is away')) : Promise.resolve();
    await wipe(0);
    await clock.advance(SOON);
    expect(log.at(-1)).toMatch(/^looking for jobs with missing copies failed; retrying in 2 minutes: /);
    isAway = false;
    await clock.advance(NOW_AND_THEN);
    expect(told.at(-1)).toEqual({ by: 'nest-dq', act: 'repair', on: {}, count: 1 });
  });

  it('names once a key that it lacks, gives up its election, and repairs when it has the key', async () => {
    const { add, wipe, clock, cluster, repair, told, log, events } = await world();
    const settings = { encrypt: true, acceptsUnsealed: false, unsealed: new Set<string>() };
    const old: [string, Buffer] = ['k1', randomBytes(32)];
    const both = { keys: new Map([old, ['k2', randomBytes(32)]]), current: 'k2' };
    const give = (seal: Seal | undefined) => Object.assign(cluster.settings, { seal });
    give(new Seal(settings, both));
    await add([1, 2, 3, 4].map((hours) => hours * HOUR));
    const alone = new Seal(settings, { keys: new Map([old]), current: 'k1' });
    give(alone);
    const refused = events.collect('badSeal');
    await wipe(0);
    await clock.advance(SOON);
    expect([told, repair.hasGivenUp, repair.unreadable]).toEqual([[], true, { count: 3, keys: ['k2'] }]);
    const reason = 'it is sealed with the key "k2", which this process does not have';
    expect(log).toEqual([
      expect.stringMatching(
        /^3 jobs are missing copies, and this process cannot read those that are left, such as that of job .* of t at n\d:1#.*: it is sealed with the key "k2", which this process does not have; another process can repair them if it has the key$/,
      ),
    ]);
    expect(refused).toEqual([
      expect.objectContaining({ tube: 't', buried: false, reason: `DQ_BAD_SEAL: ${reason}` }),
    ]);
    await clock.advance(NOW_AND_THEN);
    expect([log.length, repair.hasGivenUp]).toEqual([1, true]);
    alone.use(both);
    expect([repair.hasGivenUp, repair.unreadable]).toEqual([false, undefined]);
    await clock.advance(NOW_AND_THEN);
    expect(told).toMatchObject([{ act: 'repair', count: 3 }]);
  });

  it('counts a copy whose key it lacks as present, where a node came back with its log', async () => {
    const { add, cut, restore, servers, cluster, control } = await world();
    const settings = { encrypt: true, acceptsUnsealed: false, unsealed: new Set<string>() };
    const keys = new Map([['k2', randomBytes(32)]]);
    Object.assign(cluster.settings, { seal: new Seal(settings, { keys, current: 'k2' }) });
    await add([HOUR]);
    await cut(0);
    Object.assign(servers[0]!, { instance: 'startedanew' });
    await restore();
    Object.assign(cluster.settings, { seal: undefined });
    for await (const { done } of control.repair({ dryRun: true })) expect(done).toBe(0);
  });

  it('gives up its election after a failure, until it has looked at all', async () => {
    const { add, wipe, clock, ledger, repair } = await world();
    await add([HOUR]);
    let isAway = true;
    ledger.gate = (verb) =>
      isAway && verb === 'open' ? Promise.reject(new Error('it is away')) : Promise.resolve();
    await wipe(0);
    await clock.advance(SOON);
    expect([repair.hasGivenUp, repair.unreadable]).toEqual([true, undefined]);
    isAway = false;
    await clock.advance(NOW_AND_THEN);
    expect(repair.hasGivenUp).toBe(false);
  });

  it('ends with its process', async () => {
    const { add, wipe, clock, repair, told, after } = await world(3);
    await add(Array.from({ length: 500 }, (_, i) => HOUR + i));
    await wipe(0);
    while (repair.left === 0) await clock.advance(10);
    await after(5_000, repair.close());
    const { count } = told[0]!;
    await clock.advance(NOW_AND_THEN);
    expect(told).toHaveLength(1);
    expect(count).toBeLessThan(500);
    repair.start();
    repair.lookAtAll();
    await clock.advance(NOW_AND_THEN);
    expect(told).toHaveLength(1);
  });
});
