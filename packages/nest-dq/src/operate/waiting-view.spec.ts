import { describe, expect, it } from '@jest/globals';
import { embedded, failure } from '../../spec-support/producing.js';
import type { JobSummary } from './waiting-view.js';

/** Three nodes, and a process whose plain jobs are indexed. */
async function indexing() {
  const world = await embedded();
  return Object.assign(world, world.process({ mostIndexed: 100_000 }));
}

describe('the jobs that an inspector shows', () => {
  it('are those that wait, are due, or wait for a retry, the first due first, with what finds them', async () => {
    const { producer, inspector, copies, run, clock } = await indexing();
    const late = await producer.delay('t', 1, '2m');
    const keyed = await producer.delay('t', 1, '1m', { key: 'k' });
    const due = await producer.delay('t', 1, '1s');
    const tried = await producer.now('t', 1);
    const primary = (await copies()).find(({ header }) => header.id === tried.id)!;
    const { finish } = await run(primary);
    await finish('retry', { due: clock.wall() + 90_000 });
    await clock.advance(2_000);
    const page = await inspector.jobs('t');
    expect(page.jobs.map(({ id, state, attempt }) => [id, state, attempt])).toEqual([
      [due.id, 'due', 0],
      [keyed.id, 'waiting', 0],
      [tried.id, 'retrying', 1],
      [late.id, 'waiting', 0],
    ]);
    expect(page.jobs[3]).toEqual({
      id: late.id,
      ref: late.ref,
      tube: 't',
      state: 'waiting',
      dueAt: late.dueAt,
      attempt: 0,
    });
    expect(page).toMatchObject({ listed: 4, about: 4 });
    const ids = async (filter: Parameters<typeof inspector.jobs>[1]) =>
      (await inspector.jobs('t', filter)).jobs.map(({ id }) => id);
    expect(await ids({ state: 'waiting' })).toEqual([keyed.id, late.id]);
    expect(await ids({ state: 'due' })).toEqual([due.id]);
    expect(await ids({ state: 'retrying' })).toEqual([tried.id]);
    expect(await ids({ from: keyed.dueAt, to: late.dueAt })).toEqual([keyed.id, tried.id]);
    expect(await producer.revoke(page.jobs[0]!)).toBe('revoked');
  });

  it('have their last errors if asked, read in one call for those that wait for a retry', async () => {
    const { producer, inspector, copies, run, clock } = await indexing();
    await producer.delay('t', 1, '2m');
    const tried = await producer.now('t', 1);
    const primary = (await copies()).find(({ header }) => header.id === tried.id)!;
    const told = { startedAt: clock.wall(), took: 40, process: 'host:7', name: 'PaymentError' };
    for (const attempt of [1, 2]) {
      const due = clock.wall() + (attempt === 2 ? 60_000 : 0);
      const failure = { ...told, attempt, message: `no ${attempt}` };
      await (await run(primary)).finish('retry', { due, failure });
    }
    await clock.advance(100);
    const errorsIn = (jobs: readonly JobSummary[]) => jobs.map(({ id, error }) => [id === tried.id, error]);
    const error = { name: 'PaymentError', message: 'no 2' };
    expect(errorsIn((await inspector.jobs('t', { errors: true })).jobs)).toEqual([
      [true, error],
      [false, undefined],
    ]);
    const { jobs } = await inspector.jobsPage({ filter: { errors: true } });
    expect(errorsIn(jobs)).toEqual([
      [true, error],
      [false, undefined],
    ]);
    expect(errorsIn((await inspector.jobs('t')).jobs)).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
  });

  it('come page by page', async () => {
    const { producer, inspector, clock } = await indexing();
    const at = new Date(clock.wall() + 60_000);
    await producer.addMany(
      't',
      Array.from({ length: 7 }, (_, payload) => ({ payload, at })),
    );
    await clock.advance(100);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await inspector.jobs('t', { limit: 3, ...(cursor !== undefined && { cursor }) });
      found.push(...page.jobs.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(new Set(found).size).toBe(7);
    expect(found).toHaveLength(7);
  });

  it('are searched 1,000 at a time', async () => {
    const { inspector, memory, clock } = await indexing();
    const due = clock.wall() + 60_000;
    const jobs = Array.from({ length: 1_000 }, (_, i) => ({ id: `job-${i}`, due: due + i, places: [] }));
    await memory.tube('t').ask('index', jobs);
    const page = await inspector.jobs('t', { state: 'retrying' });
    expect(page).toMatchObject({ jobs: [], listed: 1_000 });
  });

  it('are asked for with what can be meant', async () => {
    const { inspector } = await indexing();
    for (const [filter, message] of [
      [{ limit: 0 }, '`limit` is 0: expected 1 to 1000'],
      [{ limit: 1_001 }, '`limit` is 1001'],
      [{ state: 'dead' }, "`state` is \"dead\": expected 'waiting', 'due' or 'retrying'"],
      [{ keys: 'yes' }, '`keys` is "yes": expected true or false'],
      [{ errors: 1 }, '`errors` is 1: expected true or false'],
      [{ cursor: 'x' }, '`cursor` is "x"'],
      [{ form: 1 }, '"form" in the filter'],
    ] as const) {
      const error = await failure(inspector.jobs('t', filter as {}));
      expect(error).toMatchObject({ code: 'DQ_BAD_OPTION', message: expect.stringContaining(message) });
    }
    expect(await failure(inspector.jobs('a b'))).toMatchObject({ code: 'DQ_BAD_TUBE' });
    expect(await failure(inspector.jobs('t', { from: new Date(NaN) }))).toMatchObject({
      code: 'DQ_BAD_TIME',
    });
  });
});

describe('the timeline of an inspector', () => {
  it('counts the jobs that come due in each span', async () => {
    const { producer, inspector, clock } = await indexing();
    const now = clock.wall();
    for (const ms of [0, 9_999, 10_000, 25_000, 40_000]) await producer.at('t', 1, new Date(now + ms));
    await clock.advance(100);
    const span = { from: new Date(now), to: new Date(now + 30_000), buckets: 3 };
    const timeline = await inspector.timeline('t', span);
    expect(timeline.map(({ jobs }) => jobs)).toEqual([2, 1, 1]);
    expect(timeline[1]).toMatchObject({ from: new Date(now + 10_000), to: new Date(now + 20_000) });
    const edges = [now, new Date(now + 10_001), new Date(now + 11_000), now + 41_000];
    expect(await inspector.timeline('t', { edges })).toEqual([
      { from: new Date(now), to: edges[1], jobs: 3 },
      { from: edges[1], to: edges[2], jobs: 0 },
      { from: edges[2], to: new Date(now + 41_000), jobs: 2 },
    ]);
  });

  it('is asked for with what can be meant', async () => {
    const { inspector } = await indexing();
    const from = new Date(1_800_000_000_000);
    expect(await failure(inspector.timeline('t', { from, to: from }))).toMatchObject({
      code: 'DQ_BAD_OPTION',
      message: expect.stringContaining('expected a time after `from`'),
    });
    const to = new Date(1_900_000_000_000);
    expect(await failure(inspector.timeline('t', { from, to, buckets: 201 }))).toMatchObject({
      code: 'DQ_BAD_OPTION',
    });
    const edges = [from, to, to];
    expect(await failure(inspector.timeline('t', { edges }))).toMatchObject({
      code: 'DQ_BAD_OPTION',
      message: expect.stringContaining('`edges[2]` is'),
    });
    for (const few of [[], [from], Array.from({ length: 202 }, (_, i) => from.getTime() + i)])
      expect(await failure(inspector.timeline('t', { edges: few }))).toMatchObject({
        code: 'DQ_BAD_OPTION',
        message: expect.stringContaining('expected an array of 2 to 201 times'),
      });
    expect(await failure(inspector.timeline('t', { edges: [from, new Date(NaN)] }))).toMatchObject({
      code: 'DQ_BAD_TIME',
    });
  });
});
