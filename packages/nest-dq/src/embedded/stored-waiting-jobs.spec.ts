import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import { stored } from '../../spec-support/stored.js';
import type { WaitingPage } from '../ledger/waiting/waiting-jobs.js';
import { StoredWaitingJobs } from './stored-waiting-jobs.js';

const T = stored('t');
const MINUTE = 60_000;

/** Embedded nodes, and the list of what waits there. */
async function listing(count = 1) {
  const world = await embedded(count);
  const named = world.servers.map((node, i) => ({ endpoint: `n${i}:1`, node }));
  const list = new StoredWaitingJobs(named, world.memory);
  const ids = async (page: Partial<WaitingPage> = {}) =>
    (await list.page(T, { limit: 250, ...page })).jobs.map(({ id }) => id);
  return Object.assign(world, { list, ids, start: world.clock.wall() });
}

describe.each([1, 3])('the list of what waits in %d embedded nodes', (count) => {
  it('has each job once, the one that is due first first, with every place of a copy', async () => {
    const { list, producer, start, copies, servers } = await listing(count);
    const late = await producer.delay('t', 1, '2h');
    const soon = await producer.delay('t', 2, '1m', { key: 'k', priority: 'low' });
    await producer.delay('other', 3, '1h');
    const lying = await copies();
    const placesOf = (id: string) =>
      lying
        .filter(({ header }) => header.id === id)
        .map(({ node, copyId, header }) => ({
          index: header.index,
          location: `n${node}:1#${servers[node]!.instance}:${copyId}`,
        }));
    const { generation } = lying.find(({ header }) => header.id === soon.id)!.header;
    expect(await list.page(T, { limit: 250 })).toEqual({
      jobs: [
        {
          id: soon.id,
          due: start + MINUTE,
          born: generation,
          generation,
          attempt: 0,
          places: placesOf(soon.id),
        },
        {
          id: late.id,
          due: start + 120 * MINUTE,
          born: 0,
          generation: 0,
          attempt: 0,
          places: placesOf(late.id),
        },
      ],
    });
    expect(placesOf(late.id)).toHaveLength(count);
    expect(await list.counts(T)).toEqual({ listed: 2, overdue: 0, retrying: 0, firstDue: start + MINUTE });
    expect(await list.counts(stored('none'))).toEqual({ listed: 0, overdue: 0, retrying: 0 });
  });

  it('continues after a place, whatever has become of the job that was there', async () => {
    const { list, producer, ids } = await listing(count);
    const receipts = await Promise.all(
      Array.from({ length: 7 }, () => producer.at('t', 1, new Date('2031-01-01T00:00:00Z'))),
    );
    const later = await producer.at('t', 1, new Date('2031-01-01T00:00:01Z'));
    const all = [...receipts.map(({ id }) => id).sort(), later.id];
    expect(await ids()).toEqual(all);
    const first = await list.page(T, { limit: 3 });
    expect(first.jobs.map(({ id }) => id)).toEqual(all.slice(0, 3));
    await producer.revoke(receipts.find(({ id }) => id === all[2])!);
    const second = await list.page(T, { limit: 3, after: first.next! });
    expect(second.jobs.map(({ id }) => id)).toEqual(all.slice(3, 6));
    const last = await list.page(T, { limit: 3, after: second.next! });
    expect(last.jobs.map(({ id }) => id)).toEqual(all.slice(6));
    expect(last.next).toBeUndefined();
  });

  it('has the jobs of a span of time, and counts those before a time', async () => {
    const { list, producer, ids, start } = await listing(count);
    const [a, b, c] = await Promise.all(
      ['1m', '2m', '3m'].map((delay) => producer.delay('t', 1, delay as '1m')),
    );
    expect(await ids({ from: start + MINUTE, to: start + 3 * MINUTE })).toEqual([a!.id, b!.id]);
    expect(await ids({ from: start + MINUTE + 1 })).toEqual([b!.id, c!.id]);
    const times = [start + 3 * MINUTE + 1, start, start + 3 * MINUTE, start + MINUTE];
    expect(await list.dueBefore(T, times)).toEqual([3, 0, 2, 0]);
  });

  it('has no job that runs, is over, is dead or was revoked, even while copies of it lie there', async () => {
    const { list, producer, ids, copies, run, cut, restore, bury, clock } = await listing(count);
    const { id } = await producer.now('t', 1);
    const { finish } = await run((await copies())[0]!);
    expect(await ids()).toEqual([]);
    await finish('done');
    expect((await copies()).length).toBe(count);
    expect(await ids()).toEqual([]);
    expect(await list.find(T, id)).toBeUndefined();
    const dead = await producer.now('t', 1);
    const copy = (await copies()).find(({ header }) => header.id === dead.id)!;
    await (await run(copy)).finish('dead');
    expect(await ids()).toEqual([]);
    await clock.advance(3_000);
    await bury();
    const revoked = await producer.delay('t', 1, '1h');
    await cut(0);
    expect(await producer.revoke(revoked)).toBe('revoked');
    await restore();
    expect((await copies()).some(({ header }) => header.id === revoked.id)).toBe(true);
    expect(await list.counts(T)).toEqual({ listed: 0, overdue: 0, retrying: 0 });
  });

  it('has a job that waits for a retry at the time of the retry', async () => {
    const { list, producer, ids, copies, run, start, nodes } = await listing(count);
    const retrying = await producer.now('t', 1);
    const waiting = await producer.delay('t', 1, '1h');
    const copy = (await copies()).find(({ header }) => header.id === retrying.id)!;
    const lane = nodes[copy.node]!.connectLane(() => undefined)!;
    await lane.ask((done) => lane.reserveJob(copy.copyId, done));
    await (await run(copy)).finish('retry', { due: start + 120 * MINUTE });
    expect(await ids()).toEqual([waiting.id, retrying.id]);
    expect(await ids({ from: start + 90 * MINUTE })).toEqual([retrying.id]);
    expect(await list.find(T, retrying.id)).toMatchObject({ due: start + 120 * MINUTE, attempt: 1 });
    expect(await list.dueBefore(T, [start + MINUTE, start + 61 * MINUTE])).toEqual([0, 1]);
  });

  it('has a job that was moved or replaced at its new time only, while its old copies lie there', async () => {
    const { list, producer, copies, cut, restore, start } = await listing(count);
    const moved = await producer.delay('t', 1, '1h');
    const replaced = await producer.delay('t', 1, '1h', { key: 'k' });
    const many = count === 3;
    if (many) await cut(0);
    await producer.reschedule(moved, { delay: '2h' });
    await producer.delay('t', 1, '3h', { key: 'k', onDuplicate: 'replace' });
    if (many) await restore();
    expect(await copies()).toHaveLength(many ? 6 : 2);
    const { jobs } = await list.page(T, { limit: 250 });
    expect(jobs.map(({ id, due }) => [id, due - start])).toEqual([
      [moved.id, 120 * MINUTE],
      [replaced.id, 180 * MINUTE],
    ]);
    expect(jobs.map(({ born, generation }) => born < generation)).toEqual([true, false]);
    expect(await list.counts(T)).toMatchObject({ listed: 2 });
  });

  it('counts what is overdue in a backlog, and finds one of it by its id', async () => {
    const { list, producer, clock, start } = await listing(count);
    const overdue = await producer.delay('t', 1, '1m');
    await producer.delay('t', 1, '1h');
    await clock.advance(MINUTE);
    expect(await list.counts(T)).toEqual({ listed: 2, overdue: 1, retrying: 0, firstDue: start + MINUTE });
    expect(await list.find(T, overdue.id)).toMatchObject({ id: overdue.id, due: start + MINUTE });
    expect(await list.find(T, 'x')).toBeUndefined();
    expect(await list.find(stored('other'), overdue.id)).toBeUndefined();
  });
});

it('reads no body that is no job of nest-dq, and no job that was buried', async () => {
  const { list, servers, producer, nodes } = await listing();
  const lane = nodes[0]!.connectLane(() => undefined)!;
  const options = { priority: 0, delay: 60, ttr: 60 };
  for (const body of ['', 'x', 'dq1 {"id":"a"}\n', 'dq1 {"id":"a","due":5,"n":1,"i":0}'])
    await lane.ask((done) => lane.put('t', [body], options, done));
  await producer.now('t', 1);
  await lane.ask((done) => lane.reserveJob('5', done));
  await lane.ask((done) => lane.bury('5', 0, done));
  expect(servers[0]!.bodies('t')).toHaveLength(5);
  expect(await list.page(T, { limit: 250 })).toEqual({ jobs: [] });
  await lane.ask((done) => lane.delete('4', done)); // what comes first in it is right
  expect(await list.counts(T)).toEqual({ listed: 0, overdue: 0, retrying: 0 });
});

it('yields to the event loop after each thousand jobs, and misses none of those that stay', async () => {
  const { list, producer, ids, clock } = await listing();
  const added = await producer.addMany(
    't',
    Array.from({ length: 3_000 }, (_, i) => ({ payload: i, delay: 1_000 * (3_000 - i) })),
  );
  expect(added).toHaveLength(3_000);
  let turns = 0;
  const soon = clock.soon.bind(clock);
  clock.soon = (callback) => {
    turns++;
    soon(callback);
  };
  const first = (await list.page(T, { limit: 250 })).jobs;
  expect(first).toHaveLength(250);
  expect(turns).toBe(3);
  const dues = first.map(({ due }) => due);
  expect(dues).toEqual([...dues].sort((a, b) => a - b));
  const all: string[] = [];
  let after: WaitingPage['after'];
  do {
    const { jobs, next } = await list.page(T, { limit: 250, ...(after && { after }) });
    all.push(...jobs.map(({ id }) => id));
    after = next;
  } while (after);
  expect(new Set(all).size).toBe(3_000);
  expect(await ids()).toEqual(all.slice(0, 250));
});

it('fails when the ledger is closed', async () => {
  const { list, producer, memory } = await listing();
  await producer.delay('t', 1, '1h');
  await memory.close();
  expect((await failure(list.counts(T))).code).toBe('DQ_CLOSED');
});
