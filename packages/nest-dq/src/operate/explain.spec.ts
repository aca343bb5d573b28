import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { BOOM, withDead } from '../../spec-support/dead-job.js';
import { embedded } from '../../spec-support/producing.js';
import { joined } from '../../spec-support/other-process.js';
import { parseRef } from '../copies/job-ref.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { DEFAULT_BACKOFF } from '../time/backoff.js';

const KEY = { tube: 't', key: 'k' };

describe('the explanation', () => {
  it('of a plain job that waits shows each copy', async () => {
    const { inspector, producer } = await embedded();
    const receipt = await producer.delay('t', 1, '14m');
    const explanation = await inspector.explain(receipt);
    expect(explanation).toMatchObject({
      because: 'not-due',
      why: expect.stringMatching(/^Not due until .* \(in 14m\)\.$/),
      id: receipt.id,
      tube: 't',
      state: 'waiting',
      dueAt: receipt.dueAt,
      copies: [
        { node: 'n0:1', index: 0, state: 'delayed', readyIn: 839_000, reserves: 0, releases: 0, age: 0 },
        { index: 1, state: 'delayed' },
        { index: 2, state: 'delayed' },
      ],
    });
    expect(Object.keys(explanation)).not.toContain('attempt');
  });

  it('says that a job runs, and since when', async () => {
    const { inspector, producer, copies, run, clock } = await embedded();
    const receipt = await producer.now('t', 1, { key: 'k' });
    const began = clock.wall();
    await run((await copies())[0]!);
    await clock.advance(3_000);
    expect(await inspector.explain(receipt)).toMatchObject({
      because: 'running',
      key: 'k',
      state: 'running',
      attempt: 1,
      run: { startedAt: new Date(began), leaseEndsAt: new Date(began + 15_000) },
    });
  });

  it('names the process that runs it, once that has reported the run', async () => {
    const world = await embedded(3, 'app.');
    const { inspector, producer, copies, run } = world;
    const receipt = await producer.now('t', 1);
    const { finish } = await run((await copies('app.t'))[0]!, 10, 'app.t');
    const long = (id: string, attempt: number) => [{ id, attempt, runFor: 2_000 }];
    joined(world, { tube: 't', long: long(receipt.id, 2) }, { tube: 'u', long: long(receipt.id, 1) });
    const unknown = await inspector.explain(receipt);
    expect([unknown.because, 'process' in unknown.run!]).toEqual(['running', false]);
    const { id } = joined(world, { tube: 't', long: long(receipt.id, 1) });
    const { why, run: known } = await inspector.explain(receipt);
    expect(known!.process).toEqual({ id, host: hostname(), pid: process.pid });
    expect(why).toMatch(`: attempt 1, in process ${process.pid} on ${hostname()}.`);
    await finish('done');
    expect(Object.keys((await inspector.explain(receipt)).run!)).not.toContain('process');
  });

  it('has the progress that the handler reported, and so has the run in the list of processes', async () => {
    const world = await embedded(3, 'app.');
    const { inspector, producer, copies, run, memory } = world;
    const receipt = await producer.now('t', 1);
    const { finish } = await run((await copies('app.t'))[0]!, 10, 'app.t');
    const { id } = receipt;
    joined(world, {
      long: [
        { id, attempt: 1, runFor: 2_000, hasProgress: true },
        { id: 'none', attempt: 1, runFor: 2_000, hasProgress: true },
      ],
    });
    joined(world, { long: [{ id, attempt: 2, runFor: 1_000, hasProgress: true }] });
    const tube = memory.tube('app.t');
    const [trace] = await tube.ask('trace', [id]);
    await tube.progress([{ id, fence: trace!.fence, progress: { fraction: 0.4, note: 'page 12', at: 5 } }]);
    const progress = { fraction: 0.4, note: 'page 12', at: new Date(5) };
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'running', progress });
    const processes = await inspector.processes();
    expect(processes.map(({ tubes }) => tubes[0]!.longRuns.map((each) => each.progress))).toEqual([
      [progress, undefined],
      [undefined],
    ]);
    await finish('retry');
    expect(await inspector.explain(receipt)).not.toHaveProperty('progress');
  });

  it('says that a job runs even if nobody knows the processes', async () => {
    const { inspector, producer, copies, run, presence } = await embedded();
    const receipt = await producer.now('t', 1);
    await run((await copies())[0]!);
    presence.all = () => Promise.reject(new Error('no answer'));
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'running', attempt: 1 });
  });

  it('says that the limit of its group holds it back', async () => {
    const world = await embedded(3, 'app.');
    const { inspector, producer, copies, memory } = world;
    const limits = { perGroup: 1 };
    joined(world, { tube: 't', limits });
    const runs = await producer.now('t', 1, { group: 'user-17' });
    const { id, generation, born, due } = (await copies('app.t'))[0]!.header;
    const claim = { id, generation, born, due, token: 'x', attempts: 10, permit: 'user-17' };
    await memory.tube('app.t').claim([claim], { limits });
    expect(await inspector.explain(runs)).toMatchObject({ because: 'running' });
    const waits = await producer.now('t', 2, { group: 'user-17' });
    const { because, why } = await inspector.explain(waits);
    expect(because).toBe('limited');
    expect(why).toMatch(/ tube t is limited to 1 run per group .*\(running in group "user-17": 1\)\.$/);
    const other = await producer.now('t', 3, { group: 'user-18' });
    const ungrouped = await producer.now('t', 4);
    for (const each of [other, ungrouped])
      expect(await inspector.explain(each)).toMatchObject({ because: 'not-reserving' });
  });

  it('says that all slots are busy, as processes announced, and since when the oldest run is', async () => {
    const world = await embedded();
    const { inspector, producer, clock, presence, servers } = world;
    const long = (runFor: number) => [{ id: 'x', attempt: 1, runFor }];
    joined(world, { tube: 't', concurrency: 2, running: 2, long: long(9_000) });
    joined(world, { tube: 't', concurrency: 1, running: 1, long: long(4_000) });
    joined(world, { tube: 'u', concurrency: 1, running: 0, long: long(60_000) });
    servers[0]!.dial().write('watch t\r\n');
    const receipt = await producer.now('t', 1);
    await clock.advance(10);
    const { because, details } = await inspector.explain(receipt);
    const { at } = (await presence.all())[0]!;
    expect(because).toBe('slots-full');
    expect(details).toMatchObject({ tube: 't', slots: 3, oldestRun: { startedAt: new Date(at - 9_000) } });
  });

  it('omits the limits while the ledger does not report usage', async () => {
    const world = await embedded();
    joined(world, { tube: 't', limits: { concurrency: 1 } });
    const receipt = await world.producer.now('t', 1);
    world.ledger.fail('usage', 'lost', 'lost');
    expect(await world.inspector.explain(receipt)).toMatchObject({ because: 'not-reserving' });
  });

  it('says that its tube is paused, once it is due', async () => {
    const { inspector, control, producer, clock } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await control.pause('t');
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'not-due' });
    await clock.advance(60_000);
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'paused', state: 'waiting' });
    await control.resume('t');
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'not-consumed' });
  });

  it('says that it waits for a retry, and when that is', async () => {
    const { inspector, producer, copies, run, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    const due = clock.wall() + 60_000;
    await (await run((await copies())[0]!)).finish('retry', { due });
    expect(await inspector.explain(receipt)).toMatchObject({
      because: 'retrying',
      state: 'retrying',
      attempt: 1,
      dueAt: new Date(due),
    });
  });

  it('has the errors of earlier attempts, the maximum, and when it was first due', async () => {
    const world = await embedded();
    const { inspector, producer, copies, run, clock } = world;
    joined(world, { tube: 't', attempts: 6, backoff: DEFAULT_BACKOFF });
    const receipt = await producer.now('t', 1);
    const failure = {
      startedAt: clock.wall(),
      took: 40,
      process: 'host:7',
      name: 'PaymentError',
      message: 'no',
    };
    const [copy] = await copies();
    for (const attempt of [1, 2]) {
      const due = clock.wall() + (attempt === 2 ? 60_000 : 0);
      await (await run(copy!)).finish('retry', { due, failure: { ...failure, attempt } });
    }
    const { failedAttempts, ...found } = await inspector.explain(receipt);
    expect(found).toMatchObject({
      state: 'retrying',
      attempt: 2,
      maxAttempts: 6,
      backoff: DEFAULT_BACKOFF,
      firstDueAt: receipt.dueAt,
      addedAt: expect.any(Date),
    });
    const { startedAt, took, process: where } = failure;
    const error = { name: 'PaymentError', message: 'no' };
    const kept = { startedAt: new Date(startedAt), took, process: where, error };
    expect(failedAttempts).toEqual([
      { attempt: 1, ...kept },
      { attempt: 2, ...kept },
    ]);
  });

  it('prefers the options of the job, and leaves out what processes disagree on', async () => {
    const world = await embedded();
    const { inspector, producer } = world;
    joined(world, { tube: 't', attempts: 6 });
    joined(world, { tube: 't', attempts: 7 });
    const [own, other] = [
      await producer.delay('t', 1, '1m', { attempts: 3, backoff: { type: 'fixed', delay: '5s' } }),
      await producer.delay('t', 1, '1m'),
    ];
    expect(await inspector.explain(own)).toMatchObject({
      maxAttempts: 3,
      backoff: { type: 'fixed', delay: 5_000, max: 5_000, jitter: 0 },
    });
    expect(await inspector.explain(other)).not.toHaveProperty('maxAttempts');
  });

  it('has the key of a job asked for by its id or a reference without it, also while it runs', async () => {
    const { inspector, producer, copies, run, clock } = await embedded();
    const options = {
      key: 'k',
      group: 'user-17',
      priority: 'high',
      headers: { traceparent: '00-1' },
    } as const;
    const { id } = await producer.now('t', 1, options);
    const known = { key: 'k', group: 'user-17', priority: 'high', headers: { traceparent: '00-1' } };
    const { jobs } = await inspector.jobs('t');
    expect(await inspector.explain(jobs[0]!)).toMatchObject(known);
    expect(await inspector.explain({ tube: 't', id })).toMatchObject({
      ...known,
      addedAt: new Date(clock.wall()),
    });
    await run((await copies())[0]!);
    const running = await inspector.explain({ tube: 't', id });
    expect(running).toMatchObject({ because: 'running', ...known });
    expect(parseRef(running.ref!, '')).toMatchObject({ id, key: 'k' });
  });

  it('says when a job was moved', async () => {
    const { inspector, producer, clock } = await embedded();
    const receipt = await producer.delay('t', 1, '1m', { key: 'k' });
    await clock.advance(1_000);
    expect(Object.keys(await inspector.explain(receipt))).not.toContain('movedAt');
    await producer.reschedule(receipt, { delay: '2h' });
    const { addedAt, movedAt } = await inspector.explain(receipt);
    expect(movedAt!.getTime() - addedAt!.getTime()).toBe(1_000);
  });

  it('has durations in whole milliseconds', async () => {
    const { inspector, producer, clock } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await clock.advance(0.4);
    const { details } = await inspector.explain(receipt);
    expect(details).toMatchObject({ dueIn: 60_000 });
  });

  it('says that no process consumes the tube of an overdue job', async () => {
    const { inspector, producer, clock } = await embedded();
    const receipt = await producer.now('t', 1);
    await clock.advance(60_000);
    expect(await inspector.explain(receipt)).toMatchObject({ because: 'not-consumed', state: 'waiting' });
  });

  it('has the dead letter, and its buried copies', async () => {
    const { inspector, receipt } = await withDead();
    const explanation = await inspector.explain(receipt);
    expect(explanation).toMatchObject({ because: 'dead', state: 'dead', deadLetter: { error: BOOM } });
    expect(explanation.copies.map(({ state }) => state)).toEqual(['buried', 'buried', 'buried']);
  });

  it('of an old receipt says that a newer job has replaced it, and shows none of its copies', async () => {
    const { inspector, producer, clock } = await embedded();
    const old = await producer.delay('t', 1, '1m', { key: 'k' });
    await clock.advance(1);
    await producer.delay('t', 2, '2m', { key: 'k' });
    const { because, copies } = await inspector.explain(old);
    expect([because, copies.map(({ state }) => state)]).toEqual([
      'replaced',
      ['missing', 'missing', 'missing'],
    ]);
    expect(await inspector.explain(KEY)).toMatchObject({ because: 'not-due', key: 'k' });
  });

  it('follows a job that was moved to its new copies', async () => {
    const { inspector, producer } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await producer.reschedule(receipt, { delay: '2h' });
    const { because, copies } = await inspector.explain(receipt);
    expect([because, copies.map(({ state }) => state)]).toEqual([
      'not-due',
      ['delayed', 'delayed', 'delayed'],
    ]);
  });

  it('says that a job is revoked, or done', async () => {
    const { inspector, producer, copies, run } = await embedded();
    const revoked = await producer.delay('t', 1, '1m');
    await producer.revoke(revoked);
    expect(await inspector.explain(revoked)).toMatchObject({ because: 'revoked', state: 'revoked' });
    const done = await producer.now('t', 1);
    await (await run((await copies()).at(0)!)).finish('done');
    expect(await inspector.explain(done)).toMatchObject({ because: 'done', state: 'done', attempt: 1 });
  });

  it('names the nodes that are away, and waits for none', async () => {
    const { inspector, producer, cut } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    await cut(1);
    const some = await inspector.explain(receipt);
    expect([some.because, some.copies.map(({ state }) => state)]).toEqual([
      'not-due',
      ['delayed', 'away', 'delayed'],
    ]);
    await cut(0, 2);
    const none = await inspector.explain(receipt);
    expect([none.because, none.state]).toEqual(['nodes-away', undefined]);
  });

  it('knows no copy of another job that has its id on a node that lost everything', async () => {
    const { inspector, producer, servers, cut, restore, clock } = await embedded();
    const lost = await producer.delay('t', 1, '1m');
    await cut(0, 1, 2);
    for (const i of servers.keys()) servers[i] = new InProcessNode(clock);
    await restore();
    for (let i = 0; i < 3; i++) await producer.delay('t', 2, '1m');
    const { because, copies } = await inspector.explain(lost);
    expect([because, copies.map(({ state }) => state)]).toEqual([
      'no-copy',
      ['missing', 'missing', 'missing'],
    ]);
  });

  it('says that the ledger is away, and shows the copies all the same', async () => {
    const { inspector, producer, ledger } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    ledger.down = true;
    const { because, why, state, copies } = await inspector.explain(receipt);
    expect([because, state, copies.length]).toEqual(['ledger-away', undefined, 3]);
    expect(why).not.toMatch(/DQ_/);
  });

  it('waits a second, and no longer, for a ledger that is silent', async () => {
    const { inspector, producer, ledger, after } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    ledger.gate = () => new Promise(() => undefined);
    expect(await after(2_000, inspector.explain(receipt))).toMatchObject({ because: 'ledger-away' });
  });

  it('of a plain job by its id takes its places from the list of what waits', async () => {
    const world = await embedded();
    const { after } = world;
    const { inspector, producer } = world.process({ mostIndexed: 100 });
    const { id } = await producer.delay('t', 1, '14m');
    await after(10, producer.find({ tube: 't', id })); // the list is written by then
    const { because, state, copies } = await inspector.explain({ tube: 't', id });
    expect([because, state, copies.map((copy) => copy.state)]).toEqual([
      'not-due',
      'waiting',
      ['delayed', 'delayed', 'delayed'],
    ]);
  });

  it('of an unknown job says so', async () => {
    const { inspector } = await embedded();
    const { why: _, ...unknown } = await inspector.explain(KEY);
    expect(unknown).toEqual({
      because: 'unknown',
      details: {},
      id: expect.any(String),
      tube: 't',
      key: 'k',
      copies: [],
    });
  });

  it('changes nothing', async () => {
    const { inspector, producer, ledger, copies } = await embedded();
    const receipt = await producer.delay('t', 1, '1m');
    const before = await copies();
    ledger.asked.length = 0;
    await inspector.explain(receipt);
    expect(await copies()).toEqual(before);
    expect([...ledger.asked].sort()).toEqual(['deaths', 'ended', 'letter', 'paused', 'trace']);
  });

  it('refuses what is no reference', async () => {
    const { inspector } = await embedded();
    await expect(inspector.explain('job' as never)).rejects.toMatchObject({ code: 'DQ_BAD_REF' });
  });
});
