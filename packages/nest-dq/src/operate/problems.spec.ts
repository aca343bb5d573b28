import { describe, expect, it } from '@jest/globals';
import type { DqHealthState } from '../health/health.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import { LONG_PAUSE_MS, problemsOf, type ProblemFacts } from './problems.js';
import type { ProcessView } from './processes.js';
import type { TubeView } from './tube-view.js';

const NOW = Date.UTC(2030, 0, 1);
const WELL: DqHealthState = { status: 'up', nodes: { 'a:1': 'up', 'b:1': 'up', 'c:1': 'up' }, redis: 'up' };
const LEDGER: LedgerView = {
  kind: 'redis',
  up: true,
  servers: [{ address: 'r:6379', up: true }],
  problems: [],
};

function facts(more: Partial<ProblemFacts> = {}): ProblemFacts {
  return {
    now: NOW,
    wall: NOW,
    minWritten: 2,
    health: WELL,
    tubes: null,
    ledger: LEDGER,
    processes: [],
    gone: [],
    unequal: [],
    runs: new Map(),
    series: [],
    pausedBy: new Map(),
    settling: false,
    ...more,
  };
}

/** A tube with a consumer, and nothing to do. */
function tube(more: Partial<TubeView> = {}): TubeView {
  return {
    tube: 'mail',
    nodes: 3,
    waiting: 0,
    due: 0,
    running: 0,
    dead: 0,
    watching: 3,
    consumers: 1,
    ...more,
  };
}

const UNEQUAL = {
  name: 'lease',
  here: '15000 ms',
  own: 'a:1',
  there: '9000 ms',
  others: ['b:1'],
  more: 0,
};

/** A tube with two overdue jobs. */
function late(more: Partial<TubeView> = {}): TubeView {
  return tube({ due: 2, overdue: 2, overdueFor: 60_000, oldestDue: new Date(NOW - 60_000), ...more });
}

function tubeProblem(view: TubeView, more: Partial<ProblemFacts> = {}) {
  return problemsOf(facts({ tubes: { tubes: [view], more: false, away: [] }, ...more })).tubes[0];
}

function ofHealth(health: Partial<DqHealthState>, more: Partial<ProblemFacts> = {}) {
  return problemsOf(facts({ health: { ...WELL, ...health }, ...more })).cluster;
}

describe('problems of a cluster', () => {
  it('are none while all is well, and while nothing could be read', () => {
    expect(problemsOf(facts({ tubes: { tubes: [tube()], more: false, away: [] } }))).toEqual({
      cluster: [],
      tubes: [],
    });
    const nothing = { health: null, tubes: null, ledger: null, processes: null };
    expect(problemsOf(facts(nothing))).toEqual({ cluster: [], tubes: [] });
  });

  it('have no counts that nobody knows, instead of zeros', () => {
    const paused = { since: new Date(NOW - LONG_PAUSE_MS) };
    const { waiting: _waiting, due: _due, ...uncounted } = tube({ nodes: 0, paused });
    const [found] = problemsOf(facts({ tubes: { tubes: [uncounted], more: false, away: ['a:1'] } })).tubes;
    expect(found).toMatchObject({ code: 'paused' });
    expect(found).not.toHaveProperty('jobs');
    expect(found).not.toHaveProperty('due');
  });

  it('Redis is down, with its plain cause, its address, and since when by the clock of the ledger', () => {
    const redisDown = { reason: 'connect ECONNREFUSED r:6379', since: new Date(NOW - 32_000) };
    const down = { status: 'down', redis: 'down', redisDown } as const;
    expect(ofHealth(down, { wall: NOW + 5_000 })).toEqual([
      {
        code: 'ledger-down',
        level: 'failure',
        cause: 'refused',
        address: 'r:6379',
        since: new Date(NOW - 37_000),
      },
    ]);
  });

  it('only an unknown cause has its own words', () => {
    const down = (reason: string) => ofHealth({ redis: 'down', redisDown: { reason } })[0];
    expect(down('ERR max number of clients reached')).toMatchObject({
      cause: 'other',
      reason: 'ERR max number of clients reached',
    });
    expect(down("Stream isn't writeable and enableOfflineQueue options is false")).toEqual(
      expect.not.objectContaining({ reason: expect.anything() }),
    );
  });

  it('a node that is down costs copies, and fewer than minWritten fail adds', () => {
    const nodes = { 'a:1': 'up', 'b:1': 'DEADLINE: no reply to `stats` within 500 ms', 'c:1': 'up' };
    const nodesSince = { 'b:1': new Date(NOW - 9_000) };
    expect(ofHealth({ nodes, nodesSince })).toEqual([
      {
        code: 'node-down',
        level: 'warning',
        node: 'b:1',
        cause: 'silent',
        up: 2,
        total: 3,
        since: new Date(NOW - 9_000),
      },
    ]);
    const two = { ...nodes, 'c:1': 'its binlog has stopped' };
    expect(ofHealth({ nodes: two, nodesSince, status: 'down' })).toEqual([
      {
        code: 'too-few-nodes',
        level: 'failure',
        up: 1,
        needed: 2,
        total: 3,
        nodes: [
          { node: 'b:1', cause: 'silent' },
          { node: 'c:1', cause: 'binlog' },
        ],
      },
    ]);
  });

  it('unfit settings of several servers are named once', () => {
    const servers = [
      { address: 'r:1', up: true, version: '6.2.1', policy: 'allkeys-lru', appendOnly: false },
      { address: 'r:2', up: true, appendOnly: false },
      { address: 'r:3', up: true, reason: 'NOPERM' },
      { address: 'r:4', up: false, reason: 'away' },
    ];
    expect(ofHealth({}, { ledger: { ...LEDGER, servers } })).toEqual([
      {
        code: 'ledger-unfit',
        level: 'warning',
        settings: [
          { is: 'old', version: '6.2.1', oldest: '7.0' },
          { is: 'evicting', policy: 'allkeys-lru' },
          { is: 'forgetful' },
          { is: 'unreadable', reason: 'NOPERM' },
        ],
      },
    ]);
  });

  it('adds fail since the node went that was one too many, and nothing runs since the last one', () => {
    const gone = 'connect ECONNREFUSED';
    const nodes = { 'a:1': gone, 'b:1': gone, 'c:1': gone };
    const nodesSince = { 'a:1': new Date(3), 'b:1': new Date(1), 'c:1': new Date(2) };
    expect(ofHealth({ nodes: { ...nodes, 'a:1': 'up' }, nodesSince })[0]).toMatchObject({
      since: new Date(2),
    });
    expect(ofHealth({ nodes, nodesSince })[0]).toMatchObject({ since: new Date(3) });
  });

  it('are processes that fell silent, for ten minutes, unless Redis was away', () => {
    const process = (pid: number, silentFor: number) =>
      ({ host: 'web', pid, toldAt: new Date(NOW - silentFor), tubes: [] }) as unknown as ProcessView;
    const processes = [process(1, 5_000), process(2, 9_500)];
    const gone = [process(3, 60_000), process(4, 600_000)];
    const found = (more: Partial<ProblemFacts>) => problemsOf(facts({ processes, gone, ...more })).cluster;
    const silent = [
      { process: 'web:2', since: new Date(NOW - 9_500) },
      { process: 'web:3', since: new Date(NOW - 60_000) },
    ];
    expect(found({})).toEqual([
      { code: 'silent-processes', level: 'warning', processes: silent, since: new Date(NOW - 9_500) },
    ]);
    expect(found({ settling: true })).toEqual([]);
  });

  it('are one for all tubes if no process consumes any of them', () => {
    const idle = tube({ waiting: 5, due: 2, watching: 0 });
    const gone = [{ host: 'web', pid: 3, consumes: true, toldAt: new Date(7) }] as unknown as ProcessView[];
    const found = (more: Partial<TubeView>, others: Partial<ProblemFacts> = {}) =>
      problemsOf(facts({ tubes: { tubes: [{ ...idle, ...more }], more: false, away: [] }, gone, ...others }))
        .cluster;
    const none = { code: 'no-process', jobs: 7, due: 2, since: new Date(7) };
    expect(found({})).toMatchObject([{ ...none, level: 'failure' }]);
    expect(found({ due: 0 })).toMatchObject([{ level: 'warning', jobs: 5 }]);
    expect(found({ watching: 1 })).toEqual([]);
    expect(found({}, { settling: true })).toEqual([]);
    const consuming = { consumes: true, toldAt: new Date(NOW), tubes: [] } as unknown as ProcessView;
    expect(found({}, { processes: [consuming] })).toEqual([]);
  });

  it('come in the order of their severity', () => {
    const found = ofHealth(
      {
        redis: 'down',
        unidentified: 'WRONGTYPE',
        otherLedger: { id: 'x', ours: 'y', node: 'a:1', refused: true },
        nodes: { 'a:1': 'x', 'b:1': 'x', 'c:1': 'up' },
        refusedKeys: ['k1'],
        unreadable: { count: 2, keys: ['k0'] },
        lost: { count: 1, latest: { tube: 't', id: 'i', dueAt: new Date(0) } },
      },
      {
        ledger: { ...LEDGER, servers: [{ address: 'r:1', up: true, appendOnly: false }] },
        unequal: [UNEQUAL],
      },
    );
    expect(found.map(({ code, level }) => `${code} ${level}`)).toEqual([
      'ledger-down failure',
      'ledger-unidentified failure',
      'too-few-nodes failure',
      'other-ledger failure',
      'refused-keys failure',
      'lost-jobs warning',
      'ledger-unfit warning',
      'unreadable-jobs warning',
      'unequal-settings warning',
    ]);
  });

  it('lost jobs are those of the process that found most, as all find the same', () => {
    const toldAt = new Date(NOW);
    const processes = [
      { lost: 2, toldAt },
      { lost: 5, toldAt },
      { toldAt },
    ] as unknown as readonly ProcessView[];
    expect(ofHealth({}, { processes })).toEqual([{ code: 'lost-jobs', level: 'warning', count: 5 }]);
  });

  it('another ledger that runs jobs, too, is a warning', () => {
    const otherLedger = { id: 'x', ours: 'y', node: 'a:1', refused: false };
    expect(ofHealth({ otherLedger })).toEqual([
      { code: 'other-ledger', level: 'warning', node: 'a:1', refused: false },
    ]);
  });
});

describe('the problem of a tube', () => {
  it('is none before a job is five seconds late', () => {
    expect(tubeProblem(late({ overdueFor: 5_000 }))).toBeUndefined();
    expect(tubeProblem(late({ overdueFor: 5_001 }))).toMatchObject({ code: 'behind', jobs: 2 });
  });

  it('that nobody consumes it is one before anything is due', () => {
    const waiting = tube({ waiting: 120_000, consumers: 0, watching: 0 });
    expect(tubeProblem(waiting)).toMatchObject({
      code: 'no-consumer',
      level: 'warning',
      jobs: 120_000,
      due: 0,
    });
    const longDue = late({ consumers: 0, watching: 0, overdueFor: 300_000 });
    expect(tubeProblem(longDue)).toMatchObject({ code: 'no-consumer', level: 'failure', jobs: 2, due: 2 });
  });

  it('nobody is blamed if others reserve, if it is unknown who consumes, or if that has just been asked again', () => {
    const waiting = tube({ waiting: 5, consumers: 0, watching: 0 });
    expect(tubeProblem({ ...waiting, watching: 1 })).toBeUndefined();
    const { consumers: _consumers, ...unknown } = waiting;
    expect(tubeProblem(unknown)).toBeUndefined();
    expect(tubeProblem(waiting, { settling: true })).toBeUndefined();
    const overdue = late({ consumers: 0, watching: 0 });
    expect(tubeProblem(overdue, { settling: true })).toMatchObject({ code: 'settling', level: 'note' });
    expect(tubeProblem({ ...waiting, waiting: 0 })).toBeUndefined();
  });

  it('processes have a handler, but do not reserve', () => {
    expect(tubeProblem(late({ watching: 0 }))).toMatchObject({ code: 'not-reserving', level: 'warning' });
  });

  it('a pause is a note with whoever paused it, and a warning once it looks forgotten', () => {
    const paused = { since: new Date(NOW - 1_000), until: new Date(NOW + 1_000) };
    const pausedBy = new Map([['mail', 'ann']]);
    const view = tube({ due: 3, paused, watching: 0 });
    expect(tubeProblem(view, { pausedBy })).toMatchObject({
      code: 'paused',
      level: 'note',
      by: 'ann',
      ...paused,
    });
    expect(tubeProblem({ ...view, due: 0 })).toBeUndefined();
    const long = { since: new Date(NOW - LONG_PAUSE_MS) };
    expect(tubeProblem({ ...view, due: 0, paused: long })).toMatchObject({
      code: 'paused',
      level: 'warning',
    });
  });

  it('while nothing runs, that is the only cause, and a problem of the cluster', () => {
    const health = { ...WELL, redis: 'down' } as const;
    expect(tubeProblem(tube({ due: 3, consumers: 0, watching: 0 }), { health })).toMatchObject({
      code: 'ledger-down',
      level: 'note',
      jobs: 3,
    });
    expect(tubeProblem(tube({ waiting: 3, consumers: 0, watching: 0 }), { health })).toBeUndefined();
  });

  it('runs fail: more than a fifth, and ten of them', () => {
    const failing = (completed: number, failed: number) =>
      tubeProblem(tube({ retrying: 4 }), { runs: new Map([['mail', { completed, failed }]]) });
    const figures = { failed: 0.35, runs: 40, failedRuns: 14 };
    expect(failing(26, 14)).toMatchObject({ code: 'failing', ...figures });
    expect(failing(39, 10)).toMatchObject({ code: 'failing', jobs: 4 });
    expect(failing(40, 10)).toBeUndefined();
    expect(failing(0, 9)).toBeUndefined();
  });

  it('a limit, full slots, a rate or a limit per group hold late jobs back', () => {
    const limits = { concurrency: 2, running: 2 };
    expect(tubeProblem(late({ limits }))).toMatchObject({ code: 'limited', running: 2, most: 2 });
    const load = (running: number, ...longRuns: readonly { readonly since: Date }[]) => {
      const tubes = [{ tube: 'mail', running, concurrency: 5, longRuns }];
      return [{ toldAt: new Date(NOW), tubes }] as unknown as readonly ProcessView[];
    };
    const busy = { processes: [...load(5), ...load(5)] };
    expect(tubeProblem(late(), busy)).toMatchObject({ code: 'slots-full', running: 10, most: 10 });
    expect(tubeProblem(late({ watching: 0 }), busy)).toMatchObject({ code: 'slots-full' });
    expect(tubeProblem(late({ watching: 0 }), { ...busy, settling: true })).toMatchObject({
      code: 'slots-full',
    });
    expect(tubeProblem(late(), { processes: load(4) })).toMatchObject({ code: 'behind' });
    const runs = (since: number) => Array.from({ length: 5 }, () => ({ since: new Date(since) }));
    const unlisted = tube({ due: 2, overdue: 0, overdueFor: 0 });
    const stuck = { processes: load(5, ...runs(NOW - 61_000)) };
    expect(tubeProblem(unlisted, stuck)).toMatchObject({ code: 'slots-full', jobs: 2, running: 5, most: 5 });
    expect(tubeProblem(unlisted, { processes: load(5, ...runs(NOW - 5_000)) })).toBeUndefined();
    const rate = { rate: 10, per: 1_000, burst: 1 };
    expect(tubeProblem(late({ limits: rate }))).toMatchObject({ code: 'rate-limited', most: 10, per: 1_000 });
    expect(tubeProblem(late({ limits: { perGroup: 1 } }))).toMatchObject({ code: 'group-limited', most: 1 });
    const tubes = { tubes: [late()], more: false, away: ['a:1'] };
    expect(problemsOf(facts({ tubes })).tubes).toMatchObject([{ code: 'nodes-away' }]);
  });

  it('a series did not run, where nothing else explains it, and not right after Redis was away', () => {
    const missedSince = new Date(NOW - 720_000);
    const series = [{ tube: 'mail', missedSince }, { tube: 'on time' }];
    const missed = { code: 'series-missed', level: 'warning', missedSince };
    expect(tubeProblem(late(), { series })).toMatchObject({ ...missed, due: 2 });
    expect(tubeProblem(tube(), { series })).toMatchObject({ ...missed, jobs: 0 });
    expect(tubeProblem(tube({ tube: 'other' }), { series })).toEqual({
      ...missed,
      tube: 'mail',
      jobs: 0,
      due: 0,
    });
    expect(tubeProblem(late({ consumers: 0, watching: 0 }), { series })).toMatchObject({
      code: 'no-consumer',
      missedSince,
    });
    const paused = { since: new Date(NOW - 60_000) };
    expect(tubeProblem(tube({ paused }), { series })).toBeUndefined();
    expect(tubeProblem(tube(), { series, settling: true })).toBeUndefined();
  });

  it('what people have set comes after what nobody wanted, however many jobs it holds back', () => {
    const rate = late({ tube: 'held', overdue: 900, limits: { rate: 2, per: 1_000, burst: 1 } });
    const left = tube({ tube: 'left', waiting: 1, consumers: 0, watching: 0 });
    const { tubes } = problemsOf(facts({ tubes: { tubes: [rate, left], more: false, away: [] } }));
    expect(tubes.map(({ code }) => code)).toEqual(['no-consumer', 'rate-limited']);
  });

  it('the worst come first, then those with most at stake; the rest is counted', () => {
    const quiet = { consumers: 0, watching: 0 };
    const many = Array.from({ length: 55 }, (_, i) => tube({ tube: `t${i}`, waiting: i + 1, ...quiet }));
    const worst = late({ tube: 'worst', overdueFor: 400_000, ...quiet });
    const { tubes, moreTubes, level } = problemsOf(
      facts({ tubes: { tubes: [...many, worst], more: false, away: [] } }),
    );
    expect(tubes.slice(0, 2).map((each) => each.tube)).toEqual(['worst', 't54']);
    expect([tubes.length, moreTubes, level]).toEqual([50, 6, 'failure']);
  });
});
