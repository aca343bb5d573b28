import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Histogram } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { DelayedHandler, DelayedJob, Discard, DqEvents, DqModule, DqProducer, Retry } from 'nest-dq';
import { openTelemetry } from 'nest-dq/opentelemetry';
import type { EventHub } from 'nest-dq/src/events/event-hub.js';
import { Telemetry } from '../support/telemetry.js';
import { eventually } from 'test-servers';

const telemetry = new Telemetry();
const { exporter } = telemetry;
const tracer = () => trace.getTracer('shop');
let app: INestApplicationContext;

@Injectable()
class Orders {
  readonly seen: Record<string, unknown>[] = [];

  constructor(readonly dq: DqProducer) {}

  @DelayedHandler('order.cancel', { attempts: 1 })
  async cancel(id: string, job: DelayedJob): Promise<unknown> {
    await Promise.resolve();
    const tenant = propagation.getActiveBaggage()?.getEntry('tenant')?.value;
    this.seen.push({
      id,
      lateness: job.lateness,
      span: trace.getActiveSpan()?.spanContext().spanId,
      tenant,
      headers: job.headers,
    });
    if (id === 'fail') throw new TypeError('no database');
    if (id === 'discard') return Discard.because('it is gone');
    if (id === 'retry') throw Retry.after('1h');
    return 'cancelled';
  }

  @DelayedHandler('order.slow')
  slow(_id: string, job: DelayedJob): Promise<void> {
    return new Promise((resolve) => job.signal.addEventListener('abort', () => resolve()));
  }
}

beforeAll(() => telemetry.install());
afterAll(() => telemetry.uninstall());

beforeEach(async () => {
  telemetry.reset();
  class Shop {}
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const dq = DqModule.forRoot({ hooks: [openTelemetry()], logger: quiet, shutdownTimeout: 0 });
  app = await NestFactory.createApplicationContext(
    { module: Shop, imports: [dq], providers: [Orders] },
    { logger: false },
  );
});

afterEach(() => app.close());

const emitted = (event: 'completed' | 'failed' | 'dead' | 'started', count: number): Promise<void> =>
  new Promise((resolve) => {
    app
      .get(DqEvents)
      .on(event)
      .subscribe(() => --count === 0 && resolve());
  });

const CANCEL = {
  'messaging.system.name': 'nest_dq',
  'messaging.system': 'nest_dq',
  'messaging.destination.name': 'order.cancel',
  'messaging.operation.name': 'process',
  'messaging.operation.type': 'process',
};

describe('a span around each run', () => {
  /** Schedules a job inside a span, with baggage, and gives both spans once it ran. */
  async function runOf(id: string): Promise<{ scheduling: ReadableSpan; running: ReadableSpan }> {
    const baggage = propagation.createBaggage({ tenant: { value: 'acme' } });
    await context.with(propagation.setBaggage(context.active(), baggage), () =>
      tracer().startActiveSpan('place the order', async (span) => {
        await app.get(Orders).dq.now('order.cancel', id);
        span.end();
      }),
    );
    await eventually('both ended', () => exporter.getFinishedSpans().length === 2);
    const [scheduling, running] = exporter.getFinishedSpans();
    return { scheduling: scheduling!, running: running! };
  }

  it('links to the one that scheduled the job, in a trace of its own', async () => {
    const { scheduling, running } = await runOf('42');
    expect(running).toMatchObject({
      name: 'process order.cancel',
      kind: SpanKind.CONSUMER,
      parentSpanContext: undefined,
    });
    const { traceId, spanId } = scheduling.spanContext();
    expect(running.links).toMatchObject([{ context: { traceId, spanId } }]);
    expect(running.spanContext().traceId).not.toBe(traceId);
    expect(running.attributes).toMatchObject({ ...CANCEL, 'dq.job.attempt': 1, 'dq.job.outcome': 'done' });
    expect(app.get(Orders).seen).toMatchObject([
      {
        span: running.spanContext().spanId,
        tenant: 'acme',
        headers: { traceparent: `00-${traceId}-${spanId}-01`, baggage: 'tenant=acme' },
      },
    ]);
  });

  it('has an error', async () => {
    const { running } = await runOf('fail');
    expect(running.status).toEqual({ code: SpanStatusCode.ERROR, message: 'no database' });
    expect(running.attributes).toMatchObject({ 'error.type': 'TypeError' });
    expect(running.events).toMatchObject([{ name: 'exception' }]);
  });

  it.each(['discard', 'retry'])('does not take the outcome %s for an error', async (id) => {
    const { running } = await runOf(id);
    expect(running.status).toEqual({ code: SpanStatusCode.UNSET });
    expect(running.attributes).toMatchObject({ 'dq.job.outcome': id });
  });

  it('has no link where no trace was active', async () => {
    await app.get(DqProducer).now('order.cancel', 'alone');
    await eventually('it ended', () => exporter.getFinishedSpans().length === 1);
    expect(exporter.getFinishedSpans()[0]!.links).toEqual([]);
  });
});

describe('the metrics', () => {
  it('count what is scheduled, started, completed, failed and dead', async () => {
    const { dq } = app.get(Orders);
    const ended = Promise.all([emitted('completed', 2), emitted('failed', 2), emitted('dead', 2)]);
    for (const id of ['a', 'b', 'fail', 'discard']) await dq.now('order.cancel', id);
    await ended;
    const schedule = {
      ...CANCEL,
      'messaging.operation.name': 'schedule',
      'messaging.operation.type': 'send',
    };
    expect(await telemetry.measured('messaging.client.sent.messages')).toEqual([[schedule, 4]]);
    expect(await telemetry.measured('messaging.client.consumed.messages')).toEqual([[CANCEL, 4]]);
    expect(await telemetry.measured('dq.job.completed')).toEqual([[CANCEL, 2]]);
    expect(await telemetry.measured('dq.job.failed')).toEqual([
      [{ ...CANCEL, 'error.type': 'TypeError' }, 1],
      [{ ...CANCEL, 'error.type': 'Discard' }, 1],
    ]);
    expect(await telemetry.measured('dq.job.dead')).toEqual([
      [{ ...CANCEL, 'dq.job.why': 'attempts' }, 1],
      [{ ...CANCEL, 'dq.job.why': 'discarded' }, 1],
    ]);
    const lateness = await telemetry.measured<Histogram>('dq.job.lateness');
    expect(lateness).toMatchObject([[CANCEL, { count: 4 }]]);
    const sum = app.get(Orders).seen.reduce((total, { lateness: ms }) => total + Number(ms), 0);
    expect(lateness[0]![1].sum).toBeCloseTo(sum / 1_000, 6);
    expect(await telemetry.measured<Histogram>('messaging.process.duration')).toMatchObject([
      [CANCEL, { count: 2 }],
      [{ 'error.type': 'TypeError' }, { count: 1 }],
      [{ 'error.type': 'Discard' }, { count: 1 }],
    ]);
  });

  it('count the dead letters that were removed', async () => {
    const events = app.get<EventHub>(DqEvents);
    events.emit('lettersRemoved', { tube: 'order.cancel', tooOld: 2, tooMany: 0 });
    events.emit('lettersRemoved', { tube: 'order.cancel', tooOld: 1, tooMany: 4 });
    const removed = (why: string) => ({ 'messaging.destination.name': 'order.cancel', 'dq.letter.why': why });
    expect(await telemetry.measured('dq.letter.removed')).toEqual([
      [removed('too_old'), 3],
      [removed('too_many'), 4],
    ]);
  });

  it('show what runs and waits, and which node is up', async () => {
    const { dq } = app.get(Orders);
    const started = emitted('started', 2);
    await Promise.all(['a', 'b'].map((id) => dq.now('order.slow', id)));
    await started;
    const of = (tube: string) => ({ 'messaging.destination.name': tube });
    expect(await telemetry.measured('dq.job.running')).toEqual([
      [of('order.cancel'), 0],
      [of('order.slow'), 2],
    ]);
    expect(await telemetry.measured('dq.job.held')).toEqual([
      [of('order.cancel'), 0],
      [of('order.slow'), 0],
    ]);
    expect(await telemetry.measured('dq.job.owed')).toEqual([[{}, 0]]);
    expect(await telemetry.measured('dq.node.up')).toEqual([[{ 'dq.node': 'embedded' }, 1]]);
    const receipt = await dq.delay('order.slow', 'c', '1h');
    await dq.revoke(receipt, { confirmed: true });
    expect(await telemetry.measured('dq.job.owed')).toEqual([[{}, 1]]);
  });

  it('are no longer reported once the application is closed', async () => {
    await app.close();
    expect(await telemetry.measured('dq.node.up')).toEqual([]);
  });
});
