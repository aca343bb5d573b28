import { describe, expect, it } from '@jest/globals';
import { embedded, scripted } from '../../spec-support/producing.js';
import { withDead } from '../../spec-support/dead-job.js';
import type { StoredTube } from '../api/tube.js';
import { joined } from '../../spec-support/other-process.js';
import { StoredWaitingJobs } from '../embedded/stored-waiting-jobs.js';
import { countsOf, isWhollyListed, unconsumedTubes, viewOfTube, viewOfTubes } from './tube-view.js';

describe('the view of a tube', () => {
  it('counts jobs and not copies', async () => {
    const { inspector, producer } = await embedded();
    for (let i = 0; i < 5; i++) await producer.delay('t', i, '1m');
    expect(await inspector.tube('t')).toEqual({
      tube: 't',
      nodes: 3,
      waiting: 5,
      due: 0,
      running: 0,
      dead: 0,
      listed: 0,
      overdue: 0,
      retrying: 0,
      overdueFor: 0,
      watching: 0,
      consumers: 0,
      copies: { ready: 0, delayed: 15, reserved: 0, buried: 0 },
    });
  });

  it('shows how many of the listed jobs are overdue, and since when', async () => {
    const world = await embedded();
    const { clock, after } = world;
    const { inspector, producer } = world.process({ mostIndexed: 100 });
    const first = await producer.delay('t', 1, '1m');
    await producer.delay('t', 2, '2m');
    const { id } = await producer.delay('t', 3, '1h');
    await after(10, producer.find({ tube: 't', id })); // the list is written by then
    const none = await inspector.tube('t');
    expect(none).toMatchObject({ listed: 3, overdue: 0, overdueFor: 0 });
    expect('oldestDue' in none).toBe(false);
    await clock.advance(first.dueAt.getTime() + 90_000 - clock.wall());
    const late = { listed: 3, overdue: 2, oldestDue: first.dueAt, overdueFor: 90_000 };
    expect(await inspector.tube('t')).toMatchObject(late);
    expect((await inspector.tubes()).tubes).toMatchObject([late]);
  });

  it('knows from the list what is due, unless nodes have more jobs than it and dead letters explain', () => {
    const view = { tube: 't', nodes: 3, waiting: 260, due: 6, listed: 261, overdue: 1, dead: 5 };
    expect(isWhollyListed(view)).toBe(true);
    expect(isWhollyListed({ ...view, dead: 4 })).toBe(false);
    expect(isWhollyListed({ ...view, waiting: 0, listed: 0, overdue: 0, due: 3 })).toBe(false);
    const { overdue: _overdue, ...untold } = view;
    expect(isWhollyListed(untold)).toBe(false);
  });

  it('finds the tubes that have due jobs and that nobody consumes', async () => {
    const world = await embedded(3, 'app.');
    const { producer, control, clock } = world;
    const { cluster, ledger, presence } = world;
    const sources = { cluster, ledger, presence, clock, settings: { prefix: 'app.' } };
    await producer.now('mial', 1);
    await producer.delay('later', 1, '1h');
    await producer.now('paused', 1);
    await control.pause('paused');
    await producer.now('mail', 1);
    joined(world, { tube: 'mail' });
    await clock.advance(1_000);
    expect(await unconsumedTubes(sources)).toEqual(['mial']);
  });

  it('shows its pause as long as it lasts', async () => {
    const { inspector, control, clock } = await embedded(3, 'app.');
    const since = new Date(clock.wall());
    const until = new Date(clock.wall() + 60_000);
    await control.pause('t', { until });
    expect((await inspector.tube('t')).paused).toEqual({ since, until });
    await clock.advance(60_000);
    expect('paused' in (await inspector.tube('t'))).toBe(false);
  });

  it('counts the processes that consume it', async () => {
    const world = await embedded(3, 'app.');
    const { inspector } = world;
    joined(world, { tube: 't' });
    joined(world, { tube: 't' }, { tube: 'u' });
    const counted = ['t', 'u', 'v'].map(async (tube) => (await inspector.tube(tube)).consumers);
    expect(await Promise.all(counted)).toEqual([2, 1, 0]);
  });

  it('shows the limits of its handlers, and whether processes differ in them', async () => {
    const world = await embedded(3, 'app.');
    const { inspector, presence } = world;
    const rate = { rate: 5, per: 1_000, burst: 1 };
    joined(world, { tube: 't', limits: rate }, { tube: 'u', limits: { concurrency: 3 } }, { tube: 'v' });
    joined(world, { tube: 't', limits: { ...rate } }, { tube: 'u' });
    const told = ['t', 'u', 'v', 'w'].map(async (tube) => (await inspector.tube(tube)).limits);
    expect(await Promise.all(told)).toEqual([
      rate,
      { concurrency: 3, running: 0, unequal: true },
      undefined,
      undefined,
    ]);
    presence.all = () => Promise.reject(new Error('no answer'));
    expect('limits' in (await inspector.tube('t'))).toBe(false);
  });

  it('shows limits even while the ledger does not report the number of runs', async () => {
    const world = await embedded();
    joined(world, { tube: 't', limits: { perGroup: 1 } });
    world.ledger.fail('usage', 'lost');
    expect(await world.inspector.tube('t')).toMatchObject({ dead: 0, limits: { perGroup: 1 } });
  });

  it('estimates the counts while a node is away', async () => {
    const { inspector, producer, cut } = await embedded();
    for (let i = 0; i < 6; i++) await producer.delay('t', i, '1m');
    await cut(1);
    expect(await inspector.tube('t')).toMatchObject({ nodes: 2, waiting: 6, copies: { delayed: 12 } });
  });

  it('has no number where nothing is known', async () => {
    const { inspector, cut } = await embedded();
    await cut(0, 1, 2);
    expect(await inspector.tube('t')).toEqual({
      tube: 't',
      nodes: 0,
      dead: 0,
      listed: 0,
      overdue: 0,
      retrying: 0,
      overdueFor: 0,
      consumers: 0,
    });
  });

  it('counts dead letters by the ledger, and not as jobs that wait', async () => {
    const { inspector } = await withDead();
    expect(await inspector.tube('t')).toMatchObject({ waiting: 0, due: 0, dead: 1, copies: { buried: 3 } });
  });

  it('lacks the ledger’s figures while that does not answer', async () => {
    const { inspector, ledger, after, producer } = await embedded();
    await producer.delay('t', 1, '1m');
    ledger.gate = () => new Promise(() => undefined);
    const view = await after(1_000, inspector.tube('t'));
    expect(Object.keys(view).sort()).toEqual(
      ['consumers', 'copies', 'due', 'nodes', 'running', 'tube', 'waiting', 'watching'].sort(),
    );
  });

  it('lacks only the figures of the list while that does not answer', async () => {
    const { inspector, ledger } = await embedded();
    ledger.fail('tally', 'lost');
    const view = await inspector.tube('t');
    expect([view.dead, 'listed' in view, 'overdue' in view, 'overdueFor' in view]).toEqual([
      0,
      false,
      false,
      false,
    ]);
  });

  it('lacks the consumers while the processes are unknown', async () => {
    const { inspector, presence } = await embedded();
    presence.all = () => Promise.reject(new Error('no answer'));
    const view = await inspector.tube('t');
    expect([view.nodes, 'consumers' in view]).toEqual([3, false]);
  });

  it('of an invalid name is refused', async () => {
    const { inspector } = await embedded();
    await expect(inspector.tube('no tube')).rejects.toMatchObject({ code: 'DQ_BAD_TUBE' });
  });
});

describe('the list of tubes', () => {
  it('has those of the prefix, by name, without it', async () => {
    const { inspector, producer, nodes, clock } = await embedded(3, 'app.');
    const copy = { body: ['x'], priority: 1, delay: () => 60, done: () => undefined };
    nodes[0]!.put({ tube: 'other.a', ...copy });
    await clock.advance(0);
    await producer.delay('b', 1, '1m');
    await producer.delay('a', 1, '1m');
    const { tubes, more, away } = await inspector.tubes();
    expect([tubes.map(({ tube, waiting }) => [tube, waiting]), more, away]).toEqual([
      [
        ['a', 1],
        ['b', 1],
      ],
      false,
      [],
    ]);
  });

  it('does not walk through all jobs for each tube where there is no index', async () => {
    const world = await embedded();
    const { cluster, ledger, memory, clock, servers } = world;
    const named = servers.map((node, i) => ({ endpoint: `n${i}:1`, node }));
    const waiting = new StoredWaitingJobs(named, memory);
    await world.producer.delay('t', 1, '1m');
    const sources = { cluster, ledger, clock, settings: { prefix: '' }, waiting };
    const { tubes } = await viewOfTubes(sources);
    expect(tubes.map(({ tube, waiting, listed }) => [tube, waiting, listed])).toEqual([['t', 1, undefined]]);
    expect(await viewOfTube(sources, 't' as StoredTube)).toMatchObject({ waiting: 1, listed: 1, overdue: 0 });
  });

  it('asks the ledger nothing more once its time is up', async () => {
    const { inspector, ledger, servers, after } = await scripted(1);
    const [server] = servers;
    const names = Array.from({ length: 60 }, (_, i) => `- t${i}`).join('\n');
    server!.answers['list-tubes'] = () => server!.ok(names);
    server!.answers['stats-tube'] = () => 'NOT_FOUND';
    const opened: (() => void)[] = [];
    ledger.gate = () => new Promise<void>((resolve) => opened.push(resolve));
    const { tubes } = await after(1_000, inspector.tubes());
    expect(tubes).toHaveLength(60);
    const asked = ledger.asked.length;
    for (const open of opened) open();
    await after(1_000, Promise.resolve());
    expect([asked, ledger.asked.length]).toEqual([150, 150]);
  });

  it('has the tube `default` only if it has jobs', async () => {
    const { inspector, producer } = await embedded();
    expect((await inspector.tubes()).tubes).toEqual([]);
    await producer.delay('default', 1, '1m');
    expect((await inspector.tubes()).tubes).toMatchObject([{ tube: 'default', waiting: 1 }]);
  });

  it('names the nodes that are away, or fall silent', async () => {
    const { inspector, clock, servers, after } = await scripted(3);
    servers[0]!.answers['list-tubes'] = () => servers[0]!.ok('- t');
    servers[0]!.answers['stats-tube'] = () => servers[0]!.ok('current-jobs-delayed: 2');
    servers[1]!.refusing = true;
    servers[1]!.cut();
    await clock.advance(0);
    servers[2]!.answers['list-tubes'] = () => undefined;
    const { tubes, away } = await after(500, inspector.tubes());
    expect([tubes.map(({ tube, nodes }) => [tube, nodes]), away]).toEqual([[['t', 1]], ['n1:1', 'n2:1']]);
  });

  it('is cut at 1,000, asks each node once for each tube, and leaves no connection open', async () => {
    const { inspector, servers, clock } = await scripted(1);
    const [server] = servers;
    const names = Array.from({ length: 1_001 }, (_, i) => `- t${i}`).join('\n');
    server!.answers['list-tubes'] = () => server!.ok(names);
    server!.answers['stats-tube'] = () => 'NOT_FOUND';
    const { tubes, more } = await inspector.tubes();
    expect([tubes.length, more]).toEqual([1_000, true]);
    expect(server!.words.filter((word) => word === 'stats-tube')).toHaveLength(1_000);
    await clock.advance(0);
    expect(server!.connections).toBe(1);
  });
});

describe('the estimate of jobs', () => {
  const told = (ready: number, delayed: number, reserved: number) => [
    {
      'current-jobs-ready': String(ready),
      'current-jobs-delayed': String(delayed),
      'current-jobs-reserved': String(reserved),
    },
  ];

  it.each([
    ['one that waits', told(0, 3, 0), { waiting: 1, due: 0, running: 0 }],
    ['one that is just due', told(1, 2, 0), { waiting: 0, due: 1, running: 0 }],
    ['one that runs', told(0, 2, 1), { waiting: 0, due: 0, running: 1 }],
    ['one of which all copies are held', told(0, 0, 3), { waiting: 0, due: 0, running: 1 }],
    ['a backlog', told(300, 30, 0), { waiting: 10, due: 100, running: 0 }],
    ['none', told(0, 0, 0), { waiting: 0, due: 0, running: 0 }],
  ])('of %s', (_what, stats, expected) => {
    expect(countsOf(stats, 3)).toMatchObject(expected);
  });

  it('has what processes run as running after a restart of the nodes, which hand it out again', () => {
    expect(countsOf(told(18, 0, 0), 3, 4)).toMatchObject({ waiting: 0, due: 2, running: 4 });
  });
});
