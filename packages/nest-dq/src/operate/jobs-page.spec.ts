import { describe, expect, it } from '@jest/globals';
import { embedded } from '../../spec-support/producing.js';
import type { JobFilter } from './waiting-view.js';

/** A process that lists all jobs, 1,300 of a tube and two of another. */
async function withJobs() {
  const world = await embedded();
  const { producer, inspector } = world.process({ mostIndexed: 2_000 });
  const minutes = (n: number) => `${n + 1}m` as const;
  await producer.addMany(
    'many',
    Array.from({ length: 1_300 }, (_, n) => ({ payload: n, key: `many-${n}`, delay: minutes(n) })),
  );
  await producer.delay('few', {}, '90s', { key: 'few-1' });
  await producer.delay('few', {}, '1200m', { key: 'few-1200' });
  await world.clock.advance(1_000);
  return inspector;
}

describe('a page of the jobs of all tubes', () => {
  it('has them by due time, and continues where it ended', async () => {
    const inspector = await withJobs();
    const pageOf = async (filter: JobFilter) => {
      const { jobs, ...rest } = await inspector.jobsPage({ filter: { keys: true, ...filter } });
      return { keys: jobs.map(({ tube, key }) => `${tube}: ${key}`), ...rest };
    };
    const first = await pageOf({ limit: 3 });
    expect(first).toMatchObject({
      keys: ['many: many-0', 'few: few-1', 'many: many-1'],
      listed: 1_302,
      looked: 3,
    });
    const second = await pageOf({ limit: 2, cursor: first.cursor! });
    expect(second.keys).toEqual(['many: many-2', 'many: many-3']);
    let [all, cursor] = [5, second.cursor];
    for (; cursor !== undefined; all++) {
      const page = await pageOf({ limit: 500, cursor });
      all += page.keys.length - 1;
      cursor = page.cursor;
    }
    expect(all).toBe(1_302);
  });

  it('has no keys unless asked, and only jobs of a state', async () => {
    const inspector = await withJobs();
    const { jobs } = await inspector.jobsPage({ filter: { limit: 1 } });
    expect(jobs[0]).not.toHaveProperty('key');
    expect(await inspector.jobsPage({ filter: { state: 'retrying', limit: 1 } })).toMatchObject({
      jobs: [],
      looked: 1_000,
      cursor: expect.any(String),
    });
  });

  it('looks for a prefix among a thousand jobs, and continues after them', async () => {
    const inspector = await withJobs();
    const look = (filter: JobFilter) => inspector.jobsPage({ prefix: 'few-', filter });
    const first = await look({});
    expect(first.jobs.map(({ key }) => key)).toEqual(['few-1']);
    expect(first.looked).toBe(1_000);
    const second = await look({ cursor: first.cursor! });
    expect(second).toMatchObject({ jobs: [{ key: 'few-1200' }], looked: 302 });
    expect(second).not.toHaveProperty('cursor');
  });

  it('ends with as many as it may have, of one tube', async () => {
    const inspector = await withJobs();
    const page = await inspector.jobsPage({ tube: 'many', prefix: 'many-1', filter: { limit: 3 } });
    expect(page.jobs.map(({ key }) => key)).toEqual(['many-1', 'many-10', 'many-11']);
    expect(page.looked).toBe(12);
    const next = await inspector.jobsPage({
      tube: 'many',
      prefix: 'many-1',
      filter: { limit: 1, cursor: page.cursor! },
    });
    expect(next.jobs.map(({ key }) => key)).toEqual(['many-12']);
  });

  it('is refused with a wrong cursor', async () => {
    const { inspector } = await embedded();
    await expect(inspector.jobsPage({ filter: { cursor: 'x' } })).rejects.toThrow(/^DQ_BAD_OPTION: `cursor`/);
  });
});
