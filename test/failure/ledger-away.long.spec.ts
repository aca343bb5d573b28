import { describe, expect, it } from '@jest/globals';
import { stored } from 'nest-dq/spec-support/stored.js';
import type { DelayedJob, JobReceipt } from 'nest-dq/src/api/job.js';
import { eventually } from 'test-servers';
import { expectOnceEach, isEmpty, record, schedule, startOf, type Start } from '../support/jobs.js';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf, type System } from '../support/system.js';

const JOBS = 300;
/** Handlers that one process runs at once. */
const SLOTS = 20;

const suite = clusterSuite();
let tubes = 0;

const isAway = ({ ledger }: System, tube: string) => ledger.tube(stored(tube)).away;

describe.each([
  ['killed and started again', () => suite.servers.redis.kill(), () => suite.servers.redis.restart()],
  ['frozen for a while', async () => suite.servers.redis.freeze(), async () => suite.servers.redis.thaw()],
])('Redis, %s', (_how, takeAway, bringBack) => {
  it('amid runs, begins none meanwhile; afterwards everything runs, once each, and nothing is lost', async () => {
    const starts: Start[] = [];
    const tube = `t${tubes++}`;
    const [one, two] = [suite.start(), suite.start()];
    let end = () => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    for (const { consumer } of [one, two]) {
      const run = (_payload: unknown, job: DelayedJob) => (starts.push(startOf(job)), ended);
      await consumer.consume(tube, run, { concurrency: SLOTS });
    }
    const before = await schedule(one, tube, JOBS, () => Date.now());
    await eventually('every slot is taken', () => starts.length === 2 * SLOTS);
    await takeAway();
    const meanwhile: JobReceipt[] = [];
    try {
      end();
      meanwhile.push(...(await schedule(one, tube, JOBS, () => Date.now())));
      await eventually('both know that Redis is away', () => isAway(one, tube) && isAway(two, tube));
      const now = Date.now();
      await eventually('all are overdue', () => Date.now() > now + 2_000);
      expect(starts).toHaveLength(2 * SLOTS);
    } finally {
      await bringBack();
    }
    await eventually('the others ran', () => starts.length >= 2 * JOBS);
    await eventually('no copy is left', () => isEmpty(one, tube));
    expectOnceEach(starts, [...before, ...meanwhile]);
  }, 120_000);

  it('takes the outcome of a run that ended meanwhile', async () => {
    const starts: Start[] = [];
    const tube = `t${tubes++}`;
    const one = suite.start();
    let end: (() => void) | undefined;
    await one.consumer.consume(tube, (_payload, job) => {
      starts.push(startOf(job));
      return new Promise<void>((resolve) => (end = resolve));
    });
    const [receipt] = await schedule(one, tube, 1, () => Date.now());
    await eventually('it runs', () => starts.length === 1);
    await takeAway();
    try {
      await eventually('Redis is known to be away', () => isAway(one, tube));
      end!();
    } finally {
      await bringBack();
    }
    await eventually('no copy is left', () => isEmpty(one, tube));
    expectOnceEach(starts, [receipt!]);
    await expect(one.producer.revoke(receipt!)).resolves.toBe('done');
  }, 120_000);
});

describe('a consumer that is cut off from Redis', () => {
  it('leaves all jobs to a healthy one, and takes part again when it is back', async () => {
    const proxy = await suite.redisProxy();
    const [healthyStarts, cutStarts]: [Start[], Start[]] = [[], []];
    const tube = `t${tubes++}`;
    const cut = suite.start({ redis: `redis://${proxy.endpoint}` });
    const healthy = suite.start();
    await record(cut, tube, cutStarts);
    await record(healthy, tube, healthyStarts);
    const all: JobReceipt[] = [];
    const takesPart = async () => {
      const runs = cutStarts.length;
      all.push(...(await schedule(healthy, tube, 20, () => Date.now() + 100)));
      await eventually('these ran', () => cutStarts.length + healthyStarts.length >= all.length);
      return cutStarts.length > runs;
    };
    await eventually('it takes part', takesPart);
    // Else it would be cut off with runs whose end the ledger does not know, which others may then repeat.
    await eventually('no copy is left', () => isEmpty(healthy, tube));
    proxy.cut();
    await eventually('it is cut off', () => isAway(cut, tube));
    const cutRuns = cutStarts.length;
    all.push(...(await schedule(healthy, tube, JOBS, (i) => Date.now() + 500 + i * 5)));
    await eventually('all ran', () => cutRuns + healthyStarts.length >= all.length);
    expect(cutStarts.length).toBe(cutRuns);
    await eventually('no copy is left', () => isEmpty(healthy, tube));
    proxy.restore();
    await eventually('it is back', () => !isAway(cut, tube));
    await eventually('it takes part again', takesPart);
    expectOnceEach([...cutStarts, ...healthyStarts], all);
  }, 120_000);

  it('loses a run that it is silent about for a lease: another runs the job with a greater fence, and its own outcome is refused', async () => {
    const proxy = await suite.redisProxy();
    const lease = 3_000;
    const tube = `t${tubes++}`;
    const [first, second]: [Start[], Start[]] = [[], []];
    const cut = suite.start({ advanced: { lease }, redis: `redis://${proxy.endpoint}` });
    let signal: AbortSignal | undefined;
    let end: (() => void) | undefined;
    await cut.consumer.consume(tube, (_payload, job) => {
      first.push(startOf(job));
      signal = job.signal;
      return new Promise<void>((resolve) => (end = resolve));
    });
    const [receipt] = await schedule(cut, tube, 1, () => Date.now());
    await eventually('it runs', () => first.length === 1);
    proxy.cut();
    await eventually('it is cut off', () => isAway(cut, tube));
    const other = suite.start({ advanced: { lease } });
    await record(other, tube, second);
    await eventually('the other runs it', () => second.length === 1);
    expect(second[0]).toMatchObject({ id: receipt!.id, attempt: 2 });
    expect(second[0]!.fence).toBeGreaterThan(first[0]!.fence);
    expect(signal!.aborted).toBe(false);
    proxy.restore();
    await eventually('its signal is raised', () => signal!.aborted);
    expect(signal!.reason).toMatchObject({ code: 'DQ_LEASE_LOST' });
    end!();
    await eventually('no copy is left', () => isEmpty(other, tube));
    expect([first.length, second.length]).toEqual([1, 1]);
  }, 120_000);
});

describe('a connection to Redis that is cut again and again', () => {
  it('starves nobody: between the cuts due jobs run, once each', async () => {
    const proxy = await suite.redisProxy();
    const starts: Start[] = [];
    const tube = `t${tubes++}`;
    const system = suite.start({ redis: `redis://${proxy.endpoint}` });
    await record(system, tube, starts);
    const receipts: JobReceipt[] = [];
    for (let cuts = 0; cuts < 4; cuts++) {
      receipts.push(...(await schedule(system, tube, 20, () => Date.now())));
      await eventually('these ran', () => starts.length >= receipts.length);
      await eventually('no copy is left', () => isEmpty(system, tube)); // so that no outcome is on its way
      proxy.cut();
      proxy.restore();
    }
    expectOnceEach(starts, receipts);
  }, 120_000);
});

describe('a consumer that stops while Redis is away', () => {
  it('keeps no job from others for longer than its lease, although its process lives on', async () => {
    const proxy = await suite.redisProxy();
    const tube = `t${tubes++}`;
    const lease = 5_000;
    const redis = `redis://${proxy.endpoint}`;
    const options = { ...optionsOf(suite.servers), redis, shutdownTimeout: 100, advanced: { lease } };
    const said: string[] = [];
    const argument = JSON.stringify({ tube, options });
    const { child } = startProgram('support/stopping-process.mjs', argument, (line) => said.push(line));
    const other = suite.start({ advanced: { lease } });
    const [receipt] = await schedule(other, tube, 1, () => Date.now());
    await eventually('it runs', () => said.includes('started'));
    proxy.cut();
    child.stdin.write('stop\n');
    await eventually('it stopped', () => said.includes('stopped'));
    proxy.restore(); // so that a lease could be kept again
    const starts: Start[] = [];
    await record(other, tube, starts);
    await eventually('another runs it', () => starts.length === 1);
    expect(starts).toMatchObject([{ id: receipt!.id, attempt: 2 }]);
  }, 120_000);
});
