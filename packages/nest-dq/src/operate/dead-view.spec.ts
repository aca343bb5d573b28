import { describe, expect, it } from '@jest/globals';
import { withDeadJobs } from '../../spec-support/dead-jobs.js';
import type { Death } from '../ledger/requests.js';
import type { DeadGroupsFilter } from './dead-view.js';

const failed = (message: string): Death => ({ why: 'attempts', error: { name: 'Error', message } });
const SECOND = 1_000;

/** Letters of two tubes and two errors, and one without. */
async function withTwoTubes() {
  const world = await withDeadJobs(0);
  await world.addAndKill(['a'], failed('order 1 has no user'));
  await world.addAndKill(['b'], failed('order 22 has no user'));
  await world.addAndKill(['c'], failed('timeout of 50 ms'));
  await world.addAndKill(['d'], { why: 'attempts' });
  // A second tube with one of these errors: only the ledger and the nodes have to know it.
  await world.producer.now('u', 'e');
  await world.clock.advance(0);
  const primary = (await world.copies('u')).find(({ header }) => header.index === 0)!;
  await (await world.run(primary, 10, 'u')).finish('dead', { death: failed('Order 7 has no user') });
  await world.clock.advance(10 * SECOND);
  await world.bury('u');
  return world;
}

describe('deadGroups', () => {
  it('groups the letters of all tubes by their errors, the largest group first', async () => {
    const { inspector, letter } = await withTwoTubes();
    const { groups, ...rest } = await inspector.deadGroups();
    expect(groups.map(({ group, letters, tubes }) => ({ group, letters, tubes }))).toEqual([
      { group: 'Error: order … has no user', letters: 2, tubes: [{ tube: 't', letters: 2 }] },
      { group: 'Error: Order … has no user', letters: 1, tubes: [{ tube: 'u', letters: 1 }] },
      { group: 'attempts', letters: 1, tubes: [{ tube: 't', letters: 1 }] },
      { group: 'Error: timeout of … ms', letters: 1, tubes: [{ tube: 't', letters: 1 }] },
    ]);
    const [a, b] = [await letter('a'), await letter('b')];
    const { payload: _, ...sample } = b;
    expect(groups[0]).toMatchObject({
      first: a.diedAt,
      last: b.diedAt,
      sample: { id: sample.id, error: sample.error },
    });
    expect(groups[0]!.sample).not.toHaveProperty('payload');
    expect(rest).toMatchObject({ others: 0, letters: 5, more: false, from: a.diedAt, away: [] });
  });

  it('shows when they died, in equal parts of the time', async () => {
    const { inspector, letter } = await withTwoTubes();
    const { groups, from, to } = await inspector.deadGroups();
    const { diedAt } = await letter('b');
    const part = Math.floor(((diedAt.getTime() - from.getTime()) / (to.getTime() - from.getTime())) * 24);
    expect(groups[0]!.trend).toHaveLength(24);
    expect(groups[0]!.trend[0]).toBe(1);
    expect(groups[0]!.trend[part]).toBe(1);
    expect(groups[0]!.trend.reduce((sum, each) => sum + each)).toBe(2);
  });

  it.each<[string, DeadGroupsFilter, string[]]>([
    ['one tube', { tube: 'u' }, ['Error: Order … has no user']],
    ['a part of the error', { error: 'TIMEOUT' }, ['Error: timeout of … ms']],
    ['a cause that no letter has', { why: 'stale' }, []],
    ['a time after all deaths', { diedFrom: new Date('2100-01-01') }, []],
  ])('can be restricted to %s', async (_case, filter, expected) => {
    const { inspector } = await withTwoTubes();
    const { groups } = await inspector.deadGroups(filter);
    expect(groups.map(({ group }) => group)).toEqual(expected);
  });

  it('looks at the newest letters of all tubes, and says so if there are others', async () => {
    const { inspector } = await withTwoTubes();
    const { groups, letters, more } = await inspector.deadGroups({ limit: 2 });
    expect(groups.map(({ group }) => group)).toEqual(['Error: Order … has no user', 'attempts']);
    expect({ letters, more }).toEqual({ letters: 2, more: true });
    expect((await inspector.deadGroups({ limit: 5 })).more).toBe(false);
  });

  it.each<[unknown, RegExp]>([
    [{ limit: 0 }, /^DQ_BAD_OPTION: `limit` is 0/],
    [{ group: 'x' }, /^DQ_BAD_OPTION: unknown "group" in the filter/],
    [{ tube: 'no tube' }, /^DQ_BAD_TUBE/],
    [{ why: 'boredom' }, /^DQ_BAD_OPTION: unknown `why` "boredom"/],
  ])('refuses %j', async (filter, message) => {
    const { inspector } = await withDeadJobs(0);
    await expect(inspector.deadGroups(filter as DeadGroupsFilter)).rejects.toThrow(message);
  });

  it('selects exactly the letters of a group for an act', async () => {
    const { control, dead } = await withTwoTubes();
    for await (const { failed: none } of control.discardMany('t', { group: 'Error: order … has no user' }))
      expect(none).toBe(0);
    expect(await dead()).toEqual(['d', 'c']);
  });
});

describe('a page of several tubes', () => {
  const payloads = (letters: readonly { readonly payload?: unknown }[]) =>
    letters.map(({ payload }) => payload);

  it('has the newest letters of all, continues at its cursor, and counts those that match', async () => {
    const { inspector } = await withTwoTubes();
    const page = await inspector.deadPage({ filter: { limit: 3 }, count: true });
    expect([payloads(page.letters), page.matching]).toEqual([['e', 'd', 'c'], { letters: 5, more: false }]);
    const rest = await inspector.deadPage({ filter: { limit: 3 }, cursor: page.cursor });
    expect([payloads(rest.letters), rest.cursor, rest.matching]).toEqual([['b', 'a'], undefined, undefined]);
  });

  it('counts those that match an error beyond the page', async () => {
    const { inspector } = await withTwoTubes();
    const filter = { error: 'no user', limit: 1 };
    const page = await inspector.deadPage({ filter, count: true });
    expect([payloads(page.letters), page.matching]).toEqual([['e'], { letters: 3, more: false }]);
    expect(page.looked).toBe(1);
    const next = await inspector.deadPage({ filter, cursor: page.cursor });
    expect(next.looked).toBe(3);
    expect(payloads(next.letters)).toEqual(['b']);
  });

  it('reads no copy if it is to be brief', async () => {
    const { inspector, cut } = await withTwoTubes();
    await cut(0, 1, 2);
    const { letters } = await inspector.deadPage({ filter: {}, tube: 't', brief: true });
    expect(letters).toHaveLength(4);
    for (const letter of letters) expect(letter).not.toHaveProperty('payload');
  });
});
