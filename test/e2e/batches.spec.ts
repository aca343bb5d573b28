import { expect, it } from '@jest/globals';
import { Discard, type DelayedJob, type JobReceipt } from 'nest-dq';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const suite = clusterSuite();

const add = (system: System, tube: string, count: number, delay: number) =>
  system.producer.addMany(
    tube,
    Array.from({ length: count }, (_, n) => ({ payload: n, delay })),
  );

const states = async ({ producer }: System, receipts: readonly JobReceipt[]) =>
  (await Promise.all(receipts.map((each) => producer.find(each)))).map((view) => view?.state);

it('gets each job once, in two processes, in batches that are full where there is a backlog', async () => {
  const [one, two] = [suite.start(), suite.start()];
  const seen: number[] = [];
  const sizes: number[] = [];
  const early: unknown[] = [];
  for (const { consumer } of [one, two]) {
    await consumer.consume(
      'rows',
      async (payloads: number[], jobs) => {
        sizes.push(payloads.length);
        seen.push(...payloads);
        early.push(...jobs.filter(({ dueAt, lateness }) => lateness < 0 || dueAt.getTime() > Date.now()));
      },
      { batch: { size: 200, wait: '100ms' }, concurrency: 2 },
    );
  }
  const receipts = await add(one, 'rows', 2_000, 1_500);
  await eventually('all ran', () => seen.length >= 2_000);
  await eventually('no copy is left', () => isEmpty(one, 'rows'));
  expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_000 }, (_, n) => n));
  expect(early).toEqual([]);
  expect(Math.max(...sizes)).toBeGreaterThan(128); // more than one claim call takes
  expect(sizes.length).toBeLessThan(100);
  expect(new Set(await states(one, receipts))).toEqual(new Set(['done']));
}, 60_000);

it('decides on each job: one is done, one is retried alone, one becomes a dead letter, one was revoked while it waited', async () => {
  const system = suite.start();
  const runs: [n: number, attempt: number][][] = [];
  await system.consumer.consume(
    'mixed',
    (payloads: number[], jobs) => {
      runs.push(payloads.map((n, i) => [n, jobs[i]!.attempt]));
      return payloads.map((n, i) => {
        if (n === 1 && jobs[i]!.attempt === 1) return new Error('once');
        return n === 2 ? Discard.because('never') : undefined;
      });
    },
    { batch: { size: 4, wait: '1s' }, backoff: { type: 'fixed', delay: '100ms' } },
  );
  const [done, failed, discarded, revoked] = await add(system, 'mixed', 4, 1_000);
  expect(await system.producer.revoke(revoked!)).toBe('revoked');
  await eventually('the failed one ran again', () => runs.length === 2);
  expect(runs[0]!.toSorted(([a], [b]) => a - b)).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
  ]);
  expect(runs[1]).toEqual([[1, 2]]);
  await eventually('all have ended', async () => {
    const all = await states(system, [done!, failed!, discarded!, revoked!]);
    return all.join() === 'done,done,dead,revoked';
  });
  const { letters } = await system.deadLetters.list('mixed');
  expect(letters.map(({ why }) => why)).toEqual(['discarded']);
}, 60_000);

it('keeps the leases of all its jobs, and a job that is revoked meanwhile aborts alone', async () => {
  const lease = 3_000;
  const [one, two] = [suite.start({ advanced: { lease } }), suite.start({ advanced: { lease } })];
  let calls = 0;
  let given: readonly DelayedJob[] = [];
  let end: () => void = () => undefined;
  const consume = ({ consumer }: System) =>
    consumer.consume(
      'long',
      (_payloads: unknown[], jobs) => {
        calls++;
        given = jobs;
        return new Promise<void>((resolve) => (end = resolve));
      },
      { batch: { size: 3, wait: '1s' }, concurrency: 1 },
    );
  await consume(one);
  await one.producer.addMany(
    'long',
    [1, 2, 3].map((payload) => ({ payload, delay: 500 })),
  );
  await eventually('it runs', () => given.length === 3);
  await consume(two);
  const began = Date.now();
  await one.producer.revoke({ ref: given[0]!.ref }, { abort: true });
  await eventually('it is aborted', () => given[0]!.signal.aborted);
  await eventually('two leases are over', () => Date.now() > began + 2 * lease);
  expect(given.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  expect(calls).toBe(1);
  end();
  await eventually('no copy is left', () => isEmpty(one, 'long'));
}, 60_000);
