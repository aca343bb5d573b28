import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { defineTube } from 'nest-dq';
import { eventually, findGoQueue, GoQueueProcess } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import type { System } from '../support/system.js';

const JOBS = 60;
const program = findGoQueue();
const suite = clusterSuite();
const processes: GoQueueProcess[] = [];
let system: System;
let tubes = 0;
let tube: string;
let endpoints: string[];

beforeEach(async () => {
  tube = `order.shared-${++tubes}`;
  system = suite.start();
  endpoints = suite.servers.beanstalkds.map(({ endpoint }) => endpoint);
  await eventually('all nodes are up', () => system.nodes.every(({ up }) => up));
});
afterEach(async () => {
  await Promise.all(processes.splice(0).map((each) => each.kill()));
});

const shared = () => defineTube<{ n: number }>(tube, { wire: 'go-queue' });

function producer(): GoQueueProcess {
  const made = GoQueueProcess.producer(program!, tube, endpoints);
  processes.push(made);
  return made;
}

async function consumer(): Promise<GoQueueProcess> {
  const { redis } = suite.servers;
  const made = await GoQueueProcess.consumer(program!, tube, redis.url.replace('redis://', ''), endpoints);
  processes.push(made);
  return made;
}

const numbersOf = (runs: readonly { readonly body: string }[]) =>
  runs.map(({ body }) => (JSON.parse(body) as { n: number }).n);
const all = Array.from({ length: JOBS }, (_, n) => n);
const inOrder = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);
const copiesAreGone = () =>
  eventually(
    'all copies are gone',
    async () => (await isEmpty(system, tube)) && isEmpty(system, `${tube}.nest`),
  );

// Where there is no Go, the bytes are those of shared-tube.long.spec.ts.
(program === undefined ? describe.skip : describe)('a tube of services in Go and in Nest', () => {
  it('runs in Nest what Go has added, once, though a tenth fails first, and a node is away', async () => {
    const go = producer();
    for (const n of all) await go.add('delay', 1_000 + 10 * n, JSON.stringify({ n }));
    const away = suite.servers.beanstalkds[1]!;
    await away.kill();
    const ran: number[] = [];
    await system.consumer.consume(
      shared(),
      ({ n }, { attempt }) => {
        if (n % 10 === 0 && attempt === 1) throw new Error('not yet');
        ran.push(n);
      },
      { backoff: { type: 'fixed', delay: 50 } },
    );
    await eventually('all ran', () => ran.length >= JOBS);
    await away.restart();
    await copiesAreGone();
    expect(inOrder(ran)).toEqual(all);
  });

  it('runs in Go what Nest has added, once, and none of it early', async () => {
    const go = await consumer();
    const from = Date.now() + 100;
    for (const n of all) await system.producer.at(shared(), { n }, from + 20 * n);
    const runs: { readonly at: number; readonly body: string }[] = [];
    await eventually('all ran', () => {
      runs.push(...go.runs());
      return runs.length >= JOBS;
    });
    await copiesAreGone();
    runs.push(...go.runs());
    expect(inOrder(numbersOf(runs))).toEqual(all);
    const early = runs.filter(({ at, body }) => at < from + 20 * (JSON.parse(body) as { n: number }).n);
    expect(early).toEqual([]);
  });

  it('runs each job once, in Go or in Nest, while both compete for what both add', async () => {
    const go = producer();
    const consuming = await consumer();
    const inNest: number[] = [];
    await system.consumer.consume(shared(), ({ n }) => void inNest.push(n));
    const due = Date.now() + 1_500;
    for (const n of all) {
      if (n % 2) await go.add('at', due, JSON.stringify({ n }));
      else await system.producer.at(shared(), { n }, due);
    }
    const inGo: number[] = [];
    await eventually('all ran', () => {
      inGo.push(...numbersOf(consuming.runs()));
      return inGo.length + inNest.length >= JOBS;
    });
    await copiesAreGone();
    inGo.push(...numbersOf(consuming.runs()));
    expect(inOrder([...inGo, ...inNest])).toEqual(all);
  });

  it('does not run in Go what Nest has revoked, even where a node was away, nor in Nest what Go has', async () => {
    const go = producer();
    const ids = [];
    for (const n of [0, 1, 2]) ids.push(await go.add('delay', 2_000, JSON.stringify({ n })));
    const receipts = [];
    for (const n of [3, 4]) receipts.push(await system.producer.delay(shared(), { n }, '2s'));
    expect(await GoQueueProcess.revoke(program!, ids[1]!)).toBe('ok');
    const away = suite.servers.beanstalkds[2]!;
    await away.kill();
    expect(await system.producer.revoke({ ref: ids[0]! })).toBe('revoked');
    expect(await system.producer.revoke(receipts[0]!)).toBe('revoked');
    await away.restart();
    await eventually('the node is back', () => system.nodes.every(({ up }) => up));
    const consuming = await consumer();
    const ran: number[] = [];
    await eventually('the others ran', () => {
      ran.push(...numbersOf(consuming.runs()));
      return ran.length >= 2;
    });
    await copiesAreGone();
    ran.push(...numbersOf(consuming.runs()));
    expect(inOrder(ran)).toEqual([2, 4]);
  });
});
