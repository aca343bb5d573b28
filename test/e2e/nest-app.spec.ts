import { afterEach, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  DelayedHandler,
  DelayedJob,
  Discard,
  DqModule,
  DqProducer,
  defineTube,
  type DqOptions,
  type JobReceipt,
} from 'nest-dq';
import { eventually } from 'test-servers';
import { CollectingLogger } from 'nest-dq/spec-support/collecting-logger.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

interface Order {
  id: string;
  failures?: number;
}
const OrderCancel = defineTube<Order>('order.cancel');
const OrderDiscard = defineTube<Order>('order.discard');
const Slow = defineTube<string>('slow');

interface Run {
  readonly payload: unknown;
  readonly job: DelayedJob;
  /** Milliseconds since 1970. */
  readonly at: number;
}

@Injectable()
class Orders {
  readonly runs: Run[] = [];
  /** Ends the handler of the slow tube. */
  finish!: () => void;
  private readonly finished = new Promise<void>((resolve) => (this.finish = resolve));

  constructor(readonly dq: DqProducer) {}

  @DelayedHandler(OrderCancel, { backoff: { type: 'fixed', delay: '200ms', jitter: 0 } })
  async cancel(order: Order, job: DelayedJob): Promise<void> {
    this.runs.push({ payload: order, job, at: Date.now() });
    if (job.attempt <= (order.failures ?? 0)) throw new Error(`no database for ${order.id}`);
  }

  @DelayedHandler(OrderDiscard)
  discard(order: Order, job: DelayedJob): Discard {
    this.runs.push({ payload: order, job, at: Date.now() });
    return Discard.because(`order ${order.id} is gone`);
  }

  @DelayedHandler(Slow)
  async slow(payload: string, job: DelayedJob): Promise<void> {
    this.runs.push({ payload, job, at: Date.now() });
    await this.finished;
  }

  of(receipt: JobReceipt): Run[] {
    return this.runs.filter(({ job }) => job.id === receipt.id);
  }
}

interface App {
  readonly context: INestApplicationContext;
  readonly orders: Orders;
  readonly log: CollectingLogger;
}

const suite = clusterSuite();
const apps: App[] = [];

afterEach(async () => {
  for (const { orders } of apps) orders.finish();
  await Promise.all(apps.splice(0).map(({ context }) => context.close()));
}, 30_000);

async function start(options: DqOptions = {}): Promise<App> {
  const log = new CollectingLogger();
  const dq = DqModule.forRootAsync({
    useFactory: () => ({ ...optionsOf(suite.servers), logger: log, ...options }),
  });
  const module = class Shop {};
  const context = await NestFactory.createApplicationContext(
    { module, imports: [dq], providers: [Orders] },
    { logger: false, abortOnError: false },
  );
  context.enableShutdownHooks();
  const app = { context, orders: context.get(Orders), log };
  apps.push(app);
  return app;
}

it('runs what is due now, at an instant and after a delay, once and not early', async () => {
  const { orders, log } = await start();
  const { dq } = orders;
  const began = Date.now();
  const receipts = await Promise.all([
    dq.now(OrderCancel, { id: 'now' }),
    dq.at(OrderCancel, { id: 'at' }, new Date(began + 1_200)),
    dq.delay(OrderCancel, { id: 'delay' }, '1500ms'),
  ]);
  await eventually('all ran', () => orders.runs.length >= receipts.length);
  for (const receipt of receipts) {
    expect(receipt.copies).toBe(3);
    const runs = orders.of(receipt);
    expect(runs).toHaveLength(1);
    expect(runs[0]!.job.lateness).toBeGreaterThanOrEqual(0);
  }
  expect(orders.of(receipts[1])[0]!.at).toBeGreaterThanOrEqual(began + 1_200);
  expect(orders.of(receipts[0])[0]).toMatchObject({
    payload: { id: 'now' },
    job: { attempt: 1, attempts: 10 },
  });
  expect(log.lines).toEqual([{ level: 'log', message: 'consumes order.cancel, order.discard, slow' }]);
});

it('does not run what was revoked', async () => {
  const { orders } = await start();
  const revoked = await orders.dq.delay(OrderCancel, { id: 'revoked' }, '1s');
  const kept = await orders.dq.delay(OrderCancel, { id: 'kept' }, '1200ms');
  await expect(orders.dq.revoke(revoked)).resolves.toBe('revoked');
  await eventually('the later one ran', () => orders.of(kept).length === 1);
  expect(orders.of(revoked)).toEqual([]);
  await eventually('it is done', async () => (await orders.dq.revoke(kept)) === 'done');
});

it('retries after the backoff, and logs each failure once, with one stack', async () => {
  const { orders, log } = await start();
  const receipt = await orders.dq.now(OrderCancel, { id: '42', failures: 2 });
  await eventually('it succeeded', () => orders.of(receipt).length === 3);
  await eventually('it is done', async () => (await orders.dq.revoke(receipt)) === 'done');
  const [first, second, third] = orders.of(receipt);
  expect([first, second, third].map((run) => run?.job.attempt)).toEqual([1, 2, 3]);
  expect(second!.at - first!.at).toBeGreaterThanOrEqual(199); // two clocks, each in whole milliseconds
  expect(third!.job.fence).toBeGreaterThan(second!.job.fence);
  expect(log.matching(new RegExp(receipt.id))).toEqual([
    expect.stringMatching(
      /of order\.cancel failed in attempt 1 of 10 and will be retried at .*: no database for 42\n    Error: .*\n +at /,
    ),
    expect.stringMatching(
      /of order\.cancel failed in attempt 2 of 10 and will be retried at .*: no database for 42$/,
    ),
  ]);
});

it('makes a dead letter of what its handler discards', async () => {
  const { orders, log } = await start();
  const receipt = await orders.dq.now(OrderDiscard, { id: '42' });
  await eventually('it is logged', () => log.matching(new RegExp(receipt.id)).length > 0);
  expect(orders.of(receipt)).toHaveLength(1);
  expect(log.matching(new RegExp(receipt.id))).toEqual([
    `job ${receipt.id} of order.discard is a dead letter because its handler discarded it: order 42 is gone`,
  ]);
  await expect(orders.dq.revoke(receipt)).resolves.toBe('dead');
});

it('closes after a running handler, whose job is then done', async () => {
  const { context, orders } = await start();
  const receipt = await orders.dq.now(Slow, 'drained');
  await eventually('it runs', () => orders.of(receipt).length === 1);
  const closed = context.close();
  orders.finish();
  await closed;
  expect(orders.of(receipt)[0]!.job.signal.aborted).toBe(false);
  await expect(orders.dq.now(Slow, 'late')).rejects.toMatchObject({ code: 'DQ_CLOSED' });
  const { orders: others } = await start();
  await expect(others.dq.revoke(receipt)).resolves.toBe('done');
});

it('gives the job of a slow handler back to another process, and does not count its attempt', async () => {
  const first = await start({ shutdownTimeout: '100ms' });
  const receipt = await first.orders.dq.now(Slow, 'given back');
  await eventually('it runs', () => first.orders.of(receipt).length === 1);
  await first.context.close();
  const [given] = first.orders.of(receipt);
  expect(given!.job.signal.reason).toMatchObject({ code: 'DQ_SHUTDOWN' });

  const second = await start();
  await eventually('the other runs it', () => second.orders.of(receipt).length === 1);
  const [taken] = second.orders.of(receipt);
  expect(taken).toMatchObject({ payload: 'given back', job: { attempt: 1 } });
  expect(taken!.job.fence).toBeGreaterThan(given!.job.fence);
  second.orders.finish();
  await eventually('it is done', async () => (await second.orders.dq.revoke(receipt)) === 'done');
});

it('logs that a node goes away and comes back, and runs on without it', async () => {
  const { orders, log } = await start();
  const [node] = suite.servers.beanstalkds;
  const logged = () => log.matching(new RegExp(`^${node!.endpoint} `));
  await orders.dq.now(OrderCancel, { id: 'before' });
  await eventually('it ran', () => orders.runs.length === 1);
  await node!.kill();
  await eventually('the log tells', () => / is down/.test(logged()[0] ?? ''));
  const receipt = await orders.dq.now(OrderCancel, { id: 'without it' });
  expect(receipt.copies).toBe(2);
  await eventually('it ran', () => orders.of(receipt).length === 1);
  await node!.restart();
  await eventually('the log tells', () => logged()[1] === `${node!.endpoint} is up again`);
  expect(logged()).toHaveLength(2);
});
