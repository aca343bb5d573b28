import { describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import type { DqHealthState } from '../health/health.js';
import type { TubeView } from '../operate/tube-view.js';
import { ProblemWatch, type ProblemWatchParts, type WatchedParts } from './problem-watch.js';

const UP: DqHealthState = { status: 'up', nodes: { 'a:1': 'up' }, redis: 'up' };
/** A tube with a consumer, and nothing to do. */
const IDLE: TubeView = {
  tube: 'mail',
  nodes: 1,
  waiting: 0,
  due: 0,
  dead: 0,
  consumers: 1,
  watching: 1,
};

function watching(more: Partial<ProblemWatchParts> = {}) {
  const clock = new VirtualClock();
  const asked = { tube: 0, acts: 0, recentRuns: 0 };
  const watch = new ProblemWatch({
    clock,
    now: () => clock.wall(),
    minWritten: 1,
    unequal: () => [],
    ...more,
    tube: async (name) => {
      asked.tube++;
      return more.tube ? more.tube(name) : { tube: name, nodes: 1 };
    },
    acts: async (limit) => {
      asked.acts++;
      return more.acts ? more.acts(limit) : { acts: [] };
    },
    series: async () => (more.series ? more.series() : []),
    gone: async () => [],
    recentRuns: async () => {
      asked.recentRuns++;
      return more.recentRuns ? more.recentRuns() : new Map();
    },
  });
  const look = (tube: Partial<TubeView>, parts: Partial<WatchedParts> = {}) =>
    watch.judge({
      health: UP,
      ledger: null,
      processes: null,
      tubes: { tubes: [{ ...IDLE, ...tube }], more: false, away: [] },
      ...parts,
    });
  return { clock, asked, look };
}

describe('a watch', () => {
  it('says who paused a tube, and asks only once', async () => {
    const on = { tube: 'mail' };
    const act = { id: 'x', at: new Date(0), count: 1 };
    const acts = async () => ({
      acts: [
        { ...act, act: 'resume', by: 'bob', on },
        { ...act, act: 'pause', by: 'eve', on: { tube: 'other' } },
        { ...act, act: 'pause', by: 'ann', on },
        { ...act, act: 'pause', by: 'old', on },
      ],
    });
    const { clock, asked, look } = watching({ acts });
    const paused = { since: new Date(5) };
    expect((await look({ due: 1, paused })).tubes).toMatchObject([{ code: 'paused', by: 'ann' }]);
    await clock.advance(60_000);
    expect((await look({ due: 1, paused })).tubes).toMatchObject([{ by: 'ann' }]);
    expect(asked.acts).toBe(1);
  });

  it('sees a backlog shrink, and when it will have caught up', async () => {
    const { clock, look } = watching();
    const late = (overdue: number) =>
      look({ due: overdue, overdue, overdueFor: 60_000, consumers: 1, watching: 1 });
    expect((await late(100)).tubes[0]).toEqual(expect.not.objectContaining({ trend: expect.anything() }));
    await clock.advance(10_000);
    expect((await late(50)).tubes).toMatchObject([{ trend: 'shrinking', caughtUpIn: 10_000 }]);
  });

  it('has no time by which a tube without a consumer has caught up, even if its jobs become fewer', async () => {
    const { clock, look } = watching();
    const left = (overdue: number) =>
      look({ due: overdue, overdue, overdueFor: 60_000, consumers: 0, watching: 0 });
    await left(100);
    await clock.advance(10_000);
    const [problem] = (await left(50)).tubes;
    expect(problem).toMatchObject({ code: 'no-consumer', trend: 'shrinking' });
    expect(problem!.caughtUpIn).toBeUndefined();
  });

  it('asks for what the list of an embedded node does not count, and not for more than once in ten seconds', async () => {
    const oldestDue = new Date(Date.UTC(2029, 0, 1));
    const { clock, asked, look } = watching({
      tube: async (tube) => ({ tube, nodes: 1, overdue: 7, oldestDue }),
    });
    const due = { due: 3, consumers: 1, watching: 1 };
    for (let i = 0; i < 6; i++) {
      expect((await look(due)).tubes).toMatchObject([{ code: 'behind', jobs: 7, oldestDue }]);
      await clock.advance(2_000);
    }
    expect(asked.tube).toBe(2);
    expect((await look({ due: 0 })).tubes).toEqual([]);
  });

  it('keeps the last causes while Redis is away, and blames nobody else right after that', async () => {
    const { clock, look } = watching();
    const alone = { waiting: 5, consumers: 0, watching: 0 };
    const before = new Date(clock.wall());
    expect((await look(alone)).tubes).toEqual([expect.not.objectContaining({ asOf: before })]);
    await clock.advance(2_000);
    const down = await look({ waiting: 5 }, { health: { ...UP, status: 'down', redis: 'down' } });
    const kept = [{ code: 'no-consumer', jobs: 5, asOf: before }];
    expect(down).toMatchObject({ level: 'failure', tubes: kept });
    await clock.advance(19_000);
    expect((await look(alone)).tubes).toMatchObject(kept);
    await clock.advance(1_000);
    expect((await look(alone)).tubes).toEqual([expect.not.objectContaining({ asOf: before })]);
  });

  it('takes what could not be read in time for unknown, not for well', async () => {
    const { look } = watching();
    const health = { ...UP, nodes: { 'a:1': 'silent', 'b:1': 'up' } };
    const [lost] = (await look({ waiting: 5, consumers: 0, watching: 0 }, { health })).tubes;
    const { waiting: _waiting, due: _due, watching: _watching, ...uncounted } = IDLE;
    for (const slow of [{ tubes: null }, { tubes: { tubes: [], more: false, away: ['a:1'] } }])
      expect((await look({}, { ...slow, health })).tubes).toEqual([{ ...lost, asOf: expect.any(Date) }]);
    const tubes = { tubes: [{ ...uncounted, nodes: 0, consumers: 0 }], more: false, away: [] };
    const { tubes: kept, cluster } = await look({}, { tubes, health: null });
    expect(kept).toEqual([{ ...lost, asOf: expect.any(Date) }]);
    expect(cluster).toMatchObject([{ code: 'node-down', node: 'a:1' }]);
    expect(await look({})).toEqual({ cluster: [], tubes: [] });
  });

  it('does not call a tube late whose consumers are not known yet', async () => {
    const { clock, look } = watching();
    const late = { due: 5, overdue: 5, overdueFor: 60_000, consumers: 0, watching: 0 };
    await look(late, { health: { ...UP, status: 'down', redis: 'down' } });
    expect((await look(late)).tubes).toMatchObject([{ code: 'settling', level: 'note', jobs: 5 }]);
    await clock.advance(20_000);
    expect((await look(late)).tubes).toMatchObject([{ code: 'no-consumer' }]);
  });

  it('keeps what it knows if something cannot be read, and does not wait for long', async () => {
    let isAway = false;
    const runs = new Map([['mail', { completed: 0, failed: 12 }]]);
    const recentRuns = () => (isAway ? new Promise<never>(() => undefined) : Promise.resolve(runs));
    const { clock, look } = watching({ recentRuns });
    expect((await look({})).tubes).toMatchObject([{ code: 'failing' }]);
    isAway = true;
    await clock.advance(10_000);
    const slow = look({});
    await clock.advance(1_000);
    expect((await slow).tubes).toMatchObject([{ code: 'failing' }]);
  });
});
