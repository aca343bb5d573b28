// Traces and metrics of nest-kq, and of both packages together, by OpenTelemetry's own SDK.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { DelayedHandler, DqModule, DqProducer } from 'nest-dq';
import { openTelemetry as dqOpenTelemetry } from 'nest-dq/opentelemetry';
import { Discard, KqModule, KqPusher, TopicHandler, type KqMessage, type KqOptions } from 'nest-kq';
import { KqDqModule } from 'nest-kq/dq';
import { openTelemetry } from 'nest-kq/opentelemetry';
import { KafkajsDriver } from 'nest-kq/src/driver/kafkajs/kafkajs-driver.js';
import { systemClock } from 'nest-handlers/time';
import { Telemetry } from '../support/telemetry.js';
import { eventually, startKafka } from 'test-servers';

const LIMIT = 120_000;
const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
const silent = { debug: () => undefined, warn: () => undefined, error: () => undefined };

const telemetry = new Telemetry();
const { exporter } = telemetry;
let app: TestingModule;

@Injectable()
class Shop {
  readonly seen: Record<string, unknown>[] = [];

  constructor(
    readonly kq: KqPusher,
    readonly dq: DqProducer,
  ) {}

  @TopicHandler('orders', { deadLetter: 'orders.dead', retry: { attempts: 2, backoff: 0 } })
  async placed(order: string, message: KqMessage): Promise<unknown> {
    this.see(order, message);
    if (order === 'fail') throw new TypeError('no database');
    if (order === 'discard') return Discard.because('it is gone');
    await this.dq.now('remind', order);
    return undefined;
  }

  @TopicHandler('stock', { batch: { size: 3, within: 60_000 }, deadLetter: 'drop', retry: { attempts: 1 } })
  counted(counts: number[]): unknown {
    return counts.map((count) => (count < 0 ? new RangeError('none left') : undefined));
  }

  @TopicHandler('mails', { retry: { through: 'dq', attempts: 2, backoff: 0 } })
  mailed(_mail: string, { attempt }: KqMessage): void {
    if (attempt === 1) throw new Error('no network');
  }

  @DelayedHandler('remind')
  remind(order: string): void {
    this.seen.push({ reminded: order });
  }

  private see(order: string, message: KqMessage): void {
    this.seen.push({
      order,
      span: trace.getActiveSpan()?.spanContext().spanId,
      tenant: propagation.getActiveBaggage()?.getEntry('tenant')?.value,
      traceparent: message.header('traceparent'),
    });
  }
}

beforeAll(() => telemetry.install());
afterAll(() => telemetry.uninstall());

beforeEach(() => {
  telemetry.reset();
});
afterEach(() => app.close(), LIMIT);

async function start(options: KqOptions = { brokers: 'memory' }): Promise<Shop> {
  const kq = KqModule.forRoot({ ...options, group: 'shop', hooks: [openTelemetry()], logger: quiet });
  const dq = DqModule.forRoot({ embedded: 'memory', hooks: [dqOpenTelemetry()], logger: quiet });
  app = await Test.createTestingModule({
    imports: [kq, dq, KqDqModule.forRoot()],
    providers: [Shop],
  }).compile();
  await app.init();
  return app.get(Shop);
}

/** Calls this inside a span, with baggage. */
async function inSpan(call: () => Promise<unknown>): Promise<ReadableSpan> {
  const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
  await context.with(propagation.setBaggage(context.active(), baggage), () =>
    trace.getTracer('specs').startActiveSpan('place the order', async (span) => {
      await call();
      span.end();
    }),
  );
  return (await spans('place the order'))[0]!;
}

/** The spans of this name, once there are at least `count`. */
async function spans(name: string, count = 1): Promise<readonly ReadableSpan[]> {
  const named = () => exporter.getFinishedSpans().filter((span) => span.name === name);
  await eventually(`${count} spans «${name}»`, () => named().length >= count);
  return named();
}

const topic = (name: string, operation: string) => ({
  'messaging.system.name': 'kafka',
  'messaging.system': 'kafka',
  'messaging.destination.name': name,
  'messaging.operation.name': operation,
  'messaging.operation.type': operation,
});
const SEND = topic('orders', 'send');
const PROCESS = { ...topic('orders', 'process'), 'messaging.consumer.group.name': 'shop' };

/** One trace from the caller over the push to the handler, and on to the job that the handler adds. */
async function checkTrace(shop: Shop, key: string): Promise<void> {
  const placing = await inSpan(() => shop.kq.push('orders', 'a', { key }));
  const [sending] = await spans('send orders');
  const [processing] = await spans('process orders');
  const [reminding] = await spans('process remind');
  const { traceId } = placing.spanContext();
  expect(sending).toMatchObject({
    kind: SpanKind.PRODUCER,
    parentSpanContext: { spanId: placing.spanContext().spanId },
    attributes: { ...SEND, 'kafka.message.key': key, 'messaging.client.id': 'nest-kq' },
  });
  expect(processing).toMatchObject({
    kind: SpanKind.CONSUMER,
    parentSpanContext: { spanId: sending!.spanContext().spanId },
    links: [],
    status: { code: SpanStatusCode.UNSET },
    attributes: {
      ...PROCESS,
      'messaging.destination.partition.id': expect.stringMatching(/^\d$/),
      'kafka.offset': 0,
      'kafka.message.key': key,
      'kq.message.attempt': 1,
      'kq.message.outcome': 'done',
    },
  });
  const { spanId } = processing!.spanContext();
  expect([sending, processing].map((span) => span!.spanContext().traceId)).toEqual([traceId, traceId]);
  // A job may run days later, so nest-dq begins a trace for its run, which links to the one that added it.
  expect(reminding!.links).toMatchObject([{ context: { traceId, spanId } }]);
  expect(shop.seen[0]).toEqual({
    order: 'a',
    span: spanId,
    tenant: 'acme',
    traceparent: `00-${traceId}-${sending!.spanContext().spanId}-01`,
  });
}

describe('the trace of a message', () => {
  it('goes from the push to the handler, and on to what that adds to nest-dq', async () => {
    await checkTrace(await start(), 'k');
  });

  it(
    'survives a real broker',
    async () => {
      const server = await startKafka();
      try {
        const brokers = [server.endpoint];
        const driver = new KafkajsDriver({ brokers, clock: systemClock, log: silent });
        await driver.admin.createTopics(
          ['orders', 'stock', 'mails', 'orders.dead'].map((name) => ({ topic: name })),
        );
        await driver.close();
        await checkTrace(await start({ brokers }), 'k');
        await app.close();
      } finally {
        await server.stop();
      }
    },
    LIMIT,
  );

  it('has the error of a run, and takes no outcome for one', async () => {
    const { kq } = await start();
    await kq.push('orders', 'fail', { key: 'k', partition: 0 });
    const [failed, again] = await spans('process orders', 2);
    expect(failed).toMatchObject({
      status: { code: SpanStatusCode.ERROR, message: 'no database' },
      attributes: { 'error.type': 'TypeError', 'kq.message.attempt': 1 },
      events: [{ name: 'exception' }],
    });
    expect(again!.attributes).toMatchObject({ 'kq.message.attempt': 2 });
    await kq.push('orders', 'discard', { key: 'k', partition: 0 });
    const [, , discarded] = await spans('process orders', 3);
    expect(discarded).toMatchObject({
      status: { code: SpanStatusCode.UNSET },
      attributes: { 'kq.message.outcome': 'discard' },
    });
  });

  it('continues where a message came later, or came back, through nest-dq', async () => {
    const { kq } = await start();
    const placing = await inSpan(() => kq.push('mails', 'hello', { delay: 1 }));
    const [failed, again] = await spans('process mails', 2);
    const { traceId, spanId } = placing.spanContext();
    for (const span of [failed!, again!])
      expect(span).toMatchObject({ parentSpanContext: { traceId, spanId } });
    expect(failed!.attributes).toMatchObject({ 'error.type': 'Error', 'kq.message.attempt': 1 });
    expect(again!.attributes).toMatchObject({ 'kq.message.outcome': 'done', 'kq.message.attempt': 2 });
    // The second run is part of the run of a job.
    const job = again!.links[0]!.context;
    await eventually('the job ended', () =>
      exporter.getFinishedSpans().some((span) => span.spanContext().spanId === job.spanId),
    );
  });

  it('has the error of a push', async () => {
    const { kq } = await start();
    await expect(kq.push('orders', 'a', { partition: 99 })).rejects.toThrow(/KQ_BAD_MESSAGE/);
    const [sending] = await spans('send orders');
    expect(sending!.attributes).toMatchObject({ ...SEND, 'error.type': 'KQ_BAD_MESSAGE' });
    expect(sending!.status.code).toBe(SpanStatusCode.ERROR);
  });

  it('is linked from the run of a batch', async () => {
    const { kq } = await start();
    await kq.push('stock', 1, { partition: 0 });
    await kq.pushMany('stock', [
      { value: -2, partition: 0 },
      { value: 3, partition: 0 },
    ]);
    const [one, many] = await spans('send stock', 2);
    expect(many!.attributes).toMatchObject({ 'messaging.batch.message_count': 2 });
    const [processing] = await spans('process stock');
    expect(processing).toMatchObject({
      parentSpanContext: undefined,
      links: [one!, many!].map((span) => {
        const { traceId, spanId } = span.spanContext();
        return { context: { traceId, spanId } };
      }),
      attributes: {
        'messaging.batch.message_count': 3,
        'kq.batch.failed': 1,
        'error.type': 'RangeError',
      },
    });
    expect(processing!.spanContext().traceId).not.toBe(one!.spanContext().traceId);
  });
});

describe('the metrics', () => {
  it('count what is pushed and what becomes of it, and show how long that took', async () => {
    const { kq } = await start();
    const results = await kq.pushMany('orders', [
      ...['a', 'b', 'fail', 'discard'].map((value) => ({ value, partition: 0 })),
      { value: 'c', partition: 99 },
    ]);
    expect(results.filter(({ error }) => error)).toHaveLength(1);
    const dead = () => telemetry.measured('kq.message.dead');
    await eventually('two are dead', async () => (await dead()).length === 2);
    const fate = { ...PROCESS, 'kq.message.fate': 'stored' };
    expect(await dead()).toEqual(
      expect.arrayContaining([
        [{ ...fate, 'kq.message.why': 'attempts' }, 1],
        [{ ...fate, 'kq.message.why': 'discarded' }, 1],
      ]),
    );
    await eventually(
      'all are handled',
      async () => (await telemetry.measured('kq.message.handled'))[0]?.[1] === 2,
    );
    expect(await telemetry.measured('messaging.client.sent.messages')).toEqual([
      [SEND, 4],
      [{ ...SEND, 'error.type': 'KQ_BAD_MESSAGE' }, 1],
    ]);
    expect(await telemetry.measured<Histogram>('messaging.client.operation.duration')).toMatchObject([
      [{ ...SEND, 'error.type': 'KQ_BAD_MESSAGE' }, { count: 1 }],
    ]);
    expect(await telemetry.measured('messaging.client.consumed.messages')).toEqual([[PROCESS, 5]]);
    expect(await telemetry.measured('kq.message.failed')).toEqual([
      [{ ...PROCESS, 'error.type': 'TypeError', 'kq.message.next': 'in_place' }, 1],
    ]);
    expect(await telemetry.measured<Histogram>('kq.message.lateness')).toMatchObject([
      [PROCESS, { count: 2 }],
    ]);
    const durations = await telemetry.measured<Histogram>('messaging.process.duration');
    const counts = durations.map(([attributes, { count }]) => [attributes['error.type'] ?? 'none', count]);
    expect(Object.fromEntries(counts)).toEqual({ none: 3, TypeError: 2 });
  });

  it('show what is in flight, and how far the handlers are behind', async () => {
    const shop = await start();
    const group = { 'messaging.consumer.group.name': 'shop' };
    await shop.kq.pushMany(
      'stock',
      [1, 2].map((value) => ({ value, partition: 2 })),
    );
    await eventually(
      'both were fetched',
      async () => (await telemetry.measured('kq.partition.lag')).length > 0,
    );
    expect(await telemetry.measured('kq.partition.lag')).toEqual([
      [{ ...group, 'messaging.destination.name': 'stock', 'messaging.destination.partition.id': '2' }, 2],
    ]);
    expect(await telemetry.measured('kq.handler.running')).toEqual([[group, 0]]);
    expect(await telemetry.measured('kq.group.up')).toEqual([[group, 1]]);
    expect(await telemetry.measured('kq.group.partitions')).toEqual([[group, 12]]);
    expect(await telemetry.measured('kq.push.pending')).toEqual([[{}, 0]]);
  });

  it('are no longer reported once the application is closed', async () => {
    await start();
    await app.close();
    expect(await telemetry.measured('kq.group.up')).toEqual([]);
  });
});
