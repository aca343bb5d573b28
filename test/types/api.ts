/**
 * What must compile and what must not, checked by `tsc` alone. A line below `@ts-expect-error` that compiles is an
 * error itself.
 */
import {
  Controller,
  Injectable,
  Module,
  ParseIntPipe,
  createParamDecorator,
  type ArgumentsHost,
  type ExecutionContext,
} from '@nestjs/common';
import type { HealthIndicatorResult } from '@nestjs/terminus';
import type { TestingModuleBuilder } from '@nestjs/testing';
import { type } from 'arktype';
import { Cluster, Redis } from 'ioredis';
import {
  Again,
  CurrentJob,
  DelayedHandler,
  DelayedJob,
  DelayedPayload,
  Discard,
  DqConsumer,
  DqDeadLetters,
  DqEvents,
  DqHealth,
  DqModule,
  DqProducer,
  OnDq,
  InjectDq,
  Recurring,
  Retry,
  defineTube,
  duration,
  getDqToken,
  isDqContext,
  type AsJson,
  type DeadLetter,
  type DiscardResult,
  type DqClusterView,
  type DqError,
  type DqErrorCode,
  type DqEventMap,
  type DqEventName,
  type DqHealthState,
  type DqHooks,
  type DqLoad,
  type DqModuleAsyncOptions,
  type DqOptions,
  type DqOptionsFactory,
  type Duration,
  type JobReceipt,
  type JobView,
  type PayloadOf,
  type RescheduleResult,
  type ReviveResult,
  type RevokeResult,
  type Tube,
  type TubeProducer,
} from 'nest-dq';
import { EmbeddedNode, type EmbeddedNodeOptions, type ListenAddress } from 'nest-dq/embedded';
import { DqTestKit, type RunCounts, type ScheduledJob } from 'nest-dq/testing';
import * as v from 'valibot';
import { z } from 'zod';
import { openTelemetry } from 'nest-dq/opentelemetry';

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <_T extends true>() => undefined;

interface Order {
  id: string;
  count: number;
}
const OrderCancel = defineTube<Order>('order.cancel');
const Reminder = defineTube<{ at: Date; note?: string }>('reminder');
const Upload = defineTube<Uint8Array>('upload');
const Untyped = defineTube('untyped');
class Dto {
  constructor(readonly at: Date) {}
  later(): Date {
    return this.at;
  }
}
const Instance = defineTube<Dto, Dto>('instance');

// ── tubes ──

holds<Equal<PayloadOf<typeof OrderCancel>, Order>>();
holds<Equal<PayloadOf<typeof Reminder>, { at: string; note?: string }>>();
holds<Equal<PayloadOf<typeof Upload>, Buffer>>();
holds<Equal<PayloadOf<typeof Untyped>, unknown>>();
holds<Equal<PayloadOf<typeof Instance>, Dto>>();
holds<Equal<AsJson<{ when: Date; run(): void; list: Date[] }>, { when: string; list: string[] }>>();
holds<Equal<AsJson<[Date, number]>, [string, number]>>();
holds<Equal<AsJson<{ nested: { map: Map<string, number> } }>, { nested: { map: {} } }>>();
holds<Equal<AsJson<any>, any>>();

// ── producing ──

export async function produce(dq: DqProducer): Promise<RevokeResult> {
  const order: Order = { id: '42', count: 1 };
  const receipt: JobReceipt = await dq.now(OrderCancel, order);
  await dq.delay(OrderCancel, order, '15m');
  await dq.delay(OrderCancel, order, 900_000, { priority: 'high', attempts: 3, headers: { tenant: 'a' } });
  await dq.at(OrderCancel, order, new Date(), { allowPast: true, backoff: { type: 'fixed', delay: '5s' } });
  await dq.at(OrderCancel, order, { epochMilliseconds: 1 });
  await dq.at(OrderCancel, order, { toDate: () => new Date() });
  await dq.at(OrderCancel, order, { toJSDate: () => new Date() });
  const { status } = await dq.now(OrderCancel, order, { key: '42', onDuplicate: 'keep' });
  holds<Equal<typeof status, 'added' | 'replaced' | 'kept'>>();
  const wider = { ...order, more: true };
  await dq.now(OrderCancel, wider);
  await dq.now(Reminder, { at: new Date() });
  await dq.now(Upload, new Uint8Array());
  await dq.now(Upload, Buffer.from('bytes'));
  await dq.now('any.tube', { whatever: true });
  await dq.now('any.tube', null);
  await dq.now(Untyped, 42);
  const added = await dq.delayMany(OrderCancel, [{ payload: order, delay: '15m', key: '42' }]);
  for (const { receipt: stored, error } of added) {
    // One of the two.
    if (stored) holds<Equal<typeof stored, JobReceipt>>();
    else holds<Equal<typeof error, DqError>>();
  }
  await dq.atMany(OrderCancel, new Set([{ payload: order, at: new Date(), allowPast: true }]));

  // @ts-expect-error a property of another type
  await dq.now(OrderCancel, { id: 42, count: 1 });
  // @ts-expect-error a property is missing
  await dq.now(OrderCancel, { id: '42' });
  // @ts-expect-error a property too many
  await dq.now(OrderCancel, { id: '42', count: 1, more: true });
  // @ts-expect-error what the handler gets is not what the producer gives
  await dq.now(Reminder, { at: '2030-01-01' });
  // @ts-expect-error the payload of another tube
  await dq.delay(Upload, order, '1s');
  // @ts-expect-error one payload of another type among many
  await dq.delayMany(OrderCancel, [
    { payload: order, delay: 1 },
    { payload: 5, delay: 1 },
  ]);
  // @ts-expect-error an instant for each
  await dq.atMany(OrderCancel, [{ payload: order, delay: '15m' }]);
  // @ts-expect-error no delay
  await dq.delay(OrderCancel, order);
  // @ts-expect-error a text is no instant: its time zone is the caller's to say
  await dq.at(OrderCancel, order, '2030-01-01T00:00:00');
  // @ts-expect-error a key is a text
  await dq.now(OrderCancel, order, { key: 42 });
  // @ts-expect-error no such way to treat a duplicate
  await dq.now(OrderCancel, order, { key: '42', onDuplicate: 'drop' });
  // @ts-expect-error no such priority
  await dq.now(OrderCancel, order, { priority: 'urgent' });

  await dq.revoke(receipt.ref);
  await dq.revoke({ ref: String(receipt.ref) }); // from a database
  // @ts-expect-error the id of a job finds nothing
  await dq.revoke(receipt.id);
  await dq.revoke(JSON.parse(JSON.stringify(receipt)) as JobReceipt);
  await dq.revoke({ tube: OrderCancel, key: '42' });
  await dq.revoke({ tube: 'order.cancel', key: '42' }, { abort: true });
  // @ts-expect-error a key without its tube
  await dq.revoke({ key: '42' });
  // @ts-expect-error a key is a text
  await dq.revoke({ tube: OrderCancel, key: 42 });
  // @ts-expect-error no such option
  await dq.revoke(receipt, { aborted: true });
  return dq.revoke(receipt);
}

export async function move(dq: DqProducer, receipt: JobReceipt): Promise<RescheduleResult> {
  const byKey = { tube: OrderCancel, key: '42' };
  const order: Order = { id: '42', count: 1 };
  await dq.reschedule(byKey, { delay: '15m' });
  await dq.reschedule(byKey, { delay: 900_000 }, { payload: order });
  await dq.reschedule(byKey, new Date(), { allowPast: true });
  await dq.reschedule(byKey, 1_900_000_000_000);
  await dq.reschedule(byKey, { epochMilliseconds: 1 });
  await dq.reschedule({ tube: Reminder, key: 'r' }, { delay: 1 }, { payload: { at: new Date() } });
  // What is not typed takes any payload.
  await dq.reschedule({ tube: 'order.cancel', key: '42' }, { delay: 1 }, { payload: { whatever: true } });
  await dq.reschedule(receipt.ref, { delay: 1 }, { payload: 42 });
  await dq.reschedule<Order>(receipt, { delay: 1 }, { payload: order });

  // @ts-expect-error a property of another type
  await dq.reschedule(byKey, { delay: 1 }, { payload: { id: 42, count: 1 } });
  // @ts-expect-error a property is missing
  await dq.reschedule(byKey, { delay: 1 }, { payload: { id: '42' } });
  // @ts-expect-error what the handler gets is not what the producer gives
  await dq.reschedule({ tube: Reminder, key: 'r' }, { delay: 1 }, { payload: { at: '2030-01-01' } });
  // @ts-expect-error the payload that was said
  await dq.reschedule<Order>(receipt, { delay: 1 }, { payload: 42 });
  // @ts-expect-error a delay is a duration, not an instant
  await dq.reschedule(byKey, { delay: new Date() });
  // @ts-expect-error a text is neither a delay nor an instant
  await dq.reschedule(byKey, '15m');
  // @ts-expect-error what a job is stays as it is
  await dq.reschedule(byKey, { delay: 1 }, { priority: 'high' });
  return dq.reschedule(receipt, { delay: '1h' });
}

export async function look(dq: DqProducer): Promise<JobView | undefined> {
  const view = await dq.find({ tube: OrderCancel, key: '42' });
  if (view) {
    holds<Equal<typeof view.state, 'waiting' | 'running' | 'retrying' | 'done' | 'revoked' | 'dead'>>();
    await dq.revoke(view);
    await dq.reschedule(view.ref, view.dueAt);
    // @ts-expect-error a view is not to be written
    view.attempt = 0;
  }
  return view;
}

export async function bury(dead: DqDeadLetters, receipt: JobReceipt): Promise<DeadLetter[]> {
  const { letters, cursor } = await dead.list(OrderCancel, { limit: 10 });
  holds<Equal<(typeof letters)[0]['payload'], Order | undefined>>();
  await dead.list(OrderCancel, { cursor });
  const { letters: dated } = await dead.list(Reminder);
  // A Date is a text by now.
  holds<Equal<(typeof dated)[0]['payload'], { at: string; note?: string } | undefined>>();
  const { letters: untyped } = await dead.list('order.cancel');
  holds<Equal<(typeof untyped)[0]['payload'], unknown>>();
  const { letters: said } = await dead.list<Order>('order.cancel');
  const letter: DeadLetter<Order> | undefined = said[0];
  if (letter) {
    const revived: ReviveResult = await dead.revive(letter, { delay: '5m' });
    const discarded: DiscardResult = await dead.discard(letter.ref);
    // @ts-expect-error what is no word is always true
    const went: boolean = await dead.discard(letter);
    holds<Equal<typeof letter.attempt, number>>();
    // @ts-expect-error `attempts` is the most allowed, which a letter does not know
    void letter.attempts;
    // @ts-expect-error the payload may be out of reach
    const id: string = letter.payload.id;
    return [letter, { ...letter, payload: [revived, discarded, went, id] }];
  }
  // @ts-expect-error no such reason
  if ((await dead.get({ tube: OrderCancel, key: '42' }))?.why === 'boredom') return [];
  // @ts-expect-error an instant is no delay
  await dead.revive(receipt, { delay: new Date() });
  return untyped;
}

// ── durations ──

const ofEnvironment: string = process.env['DELAY'] ?? '15m';
export const durations: Duration[] = [
  0,
  '500ms',
  '1.5h',
  '15 minutes',
  '15 Minutes',
  '30S',
  '2 DAYS',
  '1 week',
  `${Math.random()}s`,
  duration(ofEnvironment),
  // @ts-expect-error a misspelt unit
  '15 minuts',
  // @ts-expect-error no unit
  '15',
  // @ts-expect-error might be months
  '15M',
  // @ts-expect-error might be months
  '15 M',
  // @ts-expect-error no fixed length
  '2 months',
  // @ts-expect-error two numbers
  '1h 30m',
  // @ts-expect-error not known to the compiler
  ofEnvironment,
];

export async function delays(dq: DqProducer, orders: readonly Order[], minutes: number): Promise<void> {
  const REMIND_AFTER = '15m';
  await dq.delay(OrderCancel, orders[0]!, REMIND_AFTER);
  await dq.delay(OrderCancel, orders[0]!, `${minutes} minutes`);
  await dq.delay(OrderCancel, orders[0]!, minutes < 60 ? '15m' : '1h');
  await dq.delayMany(
    OrderCancel,
    orders.map((payload) => ({ payload, delay: '15m', key: payload.id })),
  );
  const jobs = orders.map((payload) => ({ payload, delay: '15m' }) as const);
  await dq.delayMany(OrderCancel, jobs);
  // @ts-expect-error a Date belongs in `at`
  await dq.delay(OrderCancel, orders[0]!, new Date());
}

/** A plain object is a valid fake, for unit tests of those who inject a producer. */
export const fake: DqProducer = {
  now: async () => ({}) as JobReceipt,
  delay: async () => ({}) as JobReceipt,
  at: async () => ({}) as JobReceipt,
  delayMany: async () => [],
  atMany: async () => [],
  revoke: async () => 'revoked',
  reschedule: async () => 'rescheduled',
  find: async () => undefined,
  tube: () => fakeOrders,
};

/** The same for one tube. */
export const fakeOrders: TubeProducer<any> = {
  now: async () => ({}) as JobReceipt,
  delay: async () => ({}) as JobReceipt,
  at: async () => ({}) as JobReceipt,
  delayMany: async () => [],
  atMany: async () => [],
  revoke: async () => 'revoked',
  reschedule: async () => 'rescheduled',
  find: async () => undefined,
};

export async function bound(dq: DqProducer): Promise<void> {
  const orders: TubeProducer<Order> = dq.tube(OrderCancel);
  const order: Order = { id: '42', count: 1 };
  await orders.now(order);
  await orders.delay(order, '15m', { key: '42' });
  await orders.at(order, new Date());
  await orders.delayMany([{ payload: order, delay: '15m' }]);
  await orders.atMany([{ payload: order, at: new Date() }]);
  await orders.revoke({ key: '42' }, { abort: true });
  await orders.reschedule({ key: '42' }, { delay: '1h' }, { payload: order });
  await orders.find({ key: '42' });
  const { ref } = await orders.now(order);
  await orders.revoke(ref);
  await orders.reschedule({ ref: 'of a row' }, new Date(), { payload: order, allowPast: true });
  await orders.find(JSON.parse('{}') as JobReceipt);
  holds<Equal<keyof TubeProducer, Exclude<keyof DqProducer, 'tube'>>>();
  await dq.tube('any').now({ whatever: true });
  // @ts-expect-error a property is missing
  await orders.now({ id: '42' });
  // @ts-expect-error the tube is known already
  await orders.delay(OrderCancel, order, '15m');
  // @ts-expect-error a payload of another type
  await orders.reschedule({ key: '42' }, { delay: '1h' }, { payload: 42 });
  // @ts-expect-error a job of another tube may have this ref
  await orders.revoke('ref');
  // @ts-expect-error the producer of another tube
  const uploads: TubeProducer<Uint8Array> = orders;
  return void uploads;
}

// ── schemas ──

const Zod = defineTube('zod', { schema: z.object({ id: z.string(), at: z.string().transform(Number) }) });
const Valibot = defineTube('valibot', { schema: v.object({ id: v.pipe(v.string(), v.transform(Number)) }) });
const ArkType = defineTube('arktype', { schema: type({ id: 'string.integer.parse' }) });
holds<Equal<PayloadOf<typeof Zod>, { id: string; at: number }>>();
holds<Equal<PayloadOf<typeof Valibot>, { id: number }>>();
holds<Equal<PayloadOf<typeof ArkType>, { id: number }>>();

export async function withSchemas(dq: DqProducer, consumer: DqConsumer): Promise<void> {
  await dq.now(Zod, { id: '1', at: '5' });
  await dq.tube(Valibot).now({ id: '1' });
  await dq.delay(ArkType, { id: '1' }, '1s');
  await consumer.consume(Zod, ({ at }) => at + 1);
  // @ts-expect-error what the handler gets is not what the producer gives
  await dq.now(Zod, { id: '1', at: 5 });
  // @ts-expect-error a property of another type
  await dq.now(Valibot, { id: 1 });
  // @ts-expect-error a property is missing
  await dq.now(ArkType, {});
  // @ts-expect-error what the producer gives is not what the handler gets
  await consumer.consume(ArkType, ({ id }: { id: string }) => id);
  // @ts-expect-error no schema
  defineTube('no.schema', { schema: {} });
  // @ts-expect-error no such option
  defineTube('more', { schema: z.string(), more: true });
}

export class SchemaHandlers {
  @DelayedHandler(Valibot)
  number({ id }: { id: number }): number {
    return id;
  }

  // @ts-expect-error a property of another type
  @DelayedHandler(Valibot)
  text(_payload: { id: string }): void {}
}

// ── the test kit ──

export async function travel(kit: DqTestKit, builder: TestingModuleBuilder): Promise<RunCounts> {
  await kit.override(builder).compile();
  await kit.producer.now(OrderCancel, { id: '42', count: 1 });
  await kit.consumer.consume(OrderCancel, ({ count }) => count);
  const [job] = kit.scheduled(Reminder);
  holds<Equal<NonNullable<typeof job>['payload'], { at: string; note?: string }>>();
  const [transformed]: ScheduledJob<{ id: string }>[] = kit.scheduled(Valibot, 'second');
  // @ts-expect-error stored is what was given, not what the schema makes of it
  const id: number = transformed!.payload.id;
  kit.sleepNode(id);
  kit.wakeNode(0);
  // @ts-expect-error the present is not to be set
  kit.now = new Date();
  // @ts-expect-error an instant is no duration
  await kit.advance(new Date());
  await kit.advanceTo(new Date());
  await kit.drain();
  const { started, completed, failed, dead } = await kit.advance('15m');
  return { started, completed, failed, dead };
}
export const kits = [
  new DqTestKit(),
  new DqTestKit({ now: new Date(), nodes: 5, patience: '500ms' }),
  // @ts-expect-error no such option
  new DqTestKit({ node: 5 }),
];

// ── operating ──

export class Watching {
  @OnDq('failed')
  failed({ error, retryAt }: { error: Error; retryAt?: Date }): string {
    return error.message + String(retryAt?.getTime());
  }

  @OnDq('dead', { cluster: 'mails' })
  async dead({ letter }: DqEventMap['dead']): Promise<string> {
    return letter.why;
  }

  @OnDq('started')
  none(): void {}

  // @ts-expect-error another event's
  @OnDq('scheduled')
  another(_event: DqEventMap['started']): void {}

  // @ts-expect-error no such event
  @OnDq('finished')
  unknown(): void {}

  // @ts-expect-error no such option
  @OnDq('dead', { tube: 'order.cancel' })
  option(): void {}
}

export function watch(events: DqEvents): void {
  events.on('completed').subscribe(({ job, took, result }) => {
    holds<Equal<typeof took, number>>();
    holds<Equal<typeof result, unknown>>();
    return job.id;
  });
  const name = 'late' as DqEventName;
  events.on(name).subscribe();
  // @ts-expect-error no such event
  events.on('finished');
}

export async function healthOf(health: DqHealth): Promise<DqHealthState> {
  const { dq } = await health.check();
  const { jobs } = await health.check('jobs');
  // @ts-expect-error another key
  const { queue } = await health.check('jobs');
  // @ts-expect-error no such status
  return dq.status === 'degraded' ? (queue as DqHealthState) : jobs;
}
/** Terminus takes it, without an import of ours. */
export const indicator = (health: DqHealth): Promise<HealthIndicatorResult> => health.check();

export const hooks: DqHooks[] = [
  openTelemetry(),
  {
    onSchedule: (headers, { tube, key }) => {
      headers['tenant'] = `${tube} ${key}`;
    },
    aroundHandler: (job, next) => (job.headers['tenant'] ? next() : undefined),
    onStart: ({ load }: DqClusterView) => {
      const { owed }: DqLoad = load();
      return () => void owed;
    },
  },
  {
    // @ts-expect-error headers are texts
    onSchedule: (headers) => (headers['tenant'] = 5),
  },
  {
    // @ts-expect-error misspelt
    onschedule: () => undefined,
  },
];

// ── handling ──

const User = createParamDecorator((_data: undefined, context: ExecutionContext) =>
  isDqContext(context) ? context.getArgByIndex<DelayedJob>(1).headers['user'] : undefined,
);
export const isJob = (host: ArgumentsHost): boolean => isDqContext(host);
// @ts-expect-error a job is no context
export const isNone = (job: DelayedJob): boolean => isDqContext(job);

@Injectable()
export class Handlers {
  @InjectDq('mails', DqDeadLetters)
  readonly ofProperty!: DqDeadLetters;

  constructor(
    readonly dq: DqProducer,
    @InjectDq('mails') readonly mails: DqProducer,
    @InjectDq('mails', DqConsumer) readonly consumer: DqConsumer,
  ) {}

  @DelayedHandler(OrderCancel)
  whole(order: Order, job: DelayedJob<Order>): string {
    return order.id + job.payload.id;
  }

  @DelayedHandler(OrderCancel, { concurrency: 50, attempts: 3, backoff: { type: 'exponential', max: '10m' } })
  async wider({ id }: { id: string }, job: DelayedJob): Promise<number> {
    return id.length + job.attempt;
  }

  @DelayedHandler(OrderCancel)
  unknownPayload(_payload: unknown): void {}

  @DelayedHandler(OrderCancel)
  none(): void {}

  @DelayedHandler(OrderCancel)
  async retries(): Promise<Retry | Discard | undefined> {
    return Math.random() < 0.5 ? Retry.after('30s', new Error('busy')) : Discard.because('gone');
  }

  @DelayedHandler(Reminder)
  dateIsText({ at, note }: { at: string; note?: string }): string {
    return at + note;
  }

  @DelayedHandler(Instance)
  instance(dto: Dto): Date {
    return dto.later();
  }

  @DelayedHandler(Upload)
  bytes(payload: Buffer): number {
    return payload.length;
  }

  @Recurring('nightly', '0 3 * * *')
  nightly(): void {}

  @Recurring('nightly', '0 3 * * *', { tz: 'Europe/Berlin', attempts: 3, cluster: 'mails' })
  async nightlyJob(_payload: undefined, job: DelayedJob): Promise<void> {
    job.signal.throwIfAborted();
  }

  @Recurring('weekly', {
    name: 'on sundays',
    next: (after) => (after.getTime() > 0 ? new Date(after.getTime() + 1) : undefined),
  })
  weekly(_payload: unknown, _job: DelayedJob<undefined>): void {}

  // @ts-expect-error the payload comes first
  @Recurring('nightly', '0 3 * * *')
  jobFirst(_job: DelayedJob): void {}

  // @ts-expect-error a function has no name by which all processes would know it
  @Recurring('nightly', (after: Date) => new Date(after.getTime() + 1))
  noName(): void {}

  // @ts-expect-error no plan
  @Recurring('nightly')
  noPlan(): void {}

  // @ts-expect-error no such option
  @Recurring('nightly', '0 3 * * *', { timeZone: 'Europe/Berlin' })
  noZone(): void {}

  // @ts-expect-error no instant
  @Recurring('nightly', { name: 'tomorrow', next: () => 'tomorrow' })
  noInstant(): void {}

  @DelayedHandler('any.tube')
  anything(_payload: { whatever: boolean }, _job: DelayedJob): void {}

  @DelayedHandler('any.tube')
  anythingElse(_payload: number, _job: DelayedJob<number>): void {}

  // @ts-expect-error a property of another type
  @DelayedHandler(OrderCancel)
  wrong(_order: { id: number }): void {}

  // @ts-expect-error narrower than what comes
  @DelayedHandler(OrderCancel)
  narrower(_order: Order & { more: boolean }): void {}

  // @ts-expect-error swapped
  @DelayedHandler(OrderCancel)
  swapped(_job: DelayedJob, _order: Order): void {}

  // @ts-expect-error a Date arrives as a text
  @DelayedHandler(Reminder)
  date(_reminder: { at: Date }): void {}

  // @ts-expect-error a job of another payload
  @DelayedHandler(OrderCancel)
  otherJob(_order: Order, _job: DelayedJob<{ id: number }>): void {}

  @DelayedHandler(OrderCancel)
  decorated(@DelayedPayload() _order: Order, @CurrentJob() _job: DelayedJob, @User() _user: string): void {}

  @DelayedHandler('any.tube')
  moved(@CurrentJob() _job: DelayedJob, @DelayedPayload(ParseIntPipe) _count: number): void {}

  // @ts-expect-error a tube with a type has its payload first
  @DelayedHandler(OrderCancel)
  movedOfTyped(@CurrentJob() _job: DelayedJob, @DelayedPayload() _order: Order): void {}

  @DelayedHandler(OrderCancel)
  // @ts-expect-error what is no pipe
  noPipe(@DelayedPayload(42) _order: Order): void {}

  // @ts-expect-error a property is no method
  @DelayedHandler(OrderCancel)
  property = (_order: Order) => undefined;

  @DelayedHandler(OrderCancel, { timeout: '1s', backoff: (attempt) => attempt * 1_000 })
  timeout(): void {}

  @DelayedHandler(OrderCancel)
  async again(): Promise<Again | undefined> {
    return Math.random() < 0.5 ? Again.after('1h') : Again.at(new Date());
  }

  // @ts-expect-error a timeout is a duration
  @DelayedHandler(OrderCancel, { timeout: new Date() })
  noTimeout(): void {}

  @DelayedHandler(OrderCancel, { cluster: 'second' })
  cluster(): void {}

  // @ts-expect-error the name of a cluster is a text
  @DelayedHandler(OrderCancel, { cluster: DqProducer })
  noCluster(): void {}
}

@Controller()
export class OfController {
  @DelayedHandler('of.controller')
  handle(_payload: string): void {}
}

export async function consume(consumer: DqConsumer): Promise<void> {
  const consumption = await consumer.consume(OrderCancel, ({ id }, job) => id + job.payload.count, {
    attempts: 1,
  });
  await consumer.consume('any.tube', () => Retry.after(1_000));
  // @ts-expect-error a wrong payload
  await consumer.consume(OrderCancel, (_order: { id: number }) => undefined);
  // @ts-expect-error a consumer is of one cluster already
  await consumer.consume(OrderCancel, () => undefined, { cluster: 'mails' });
  await consumption.stop();
  await consumer.stop();
}

export function generic<In, Out>(
  dq: DqProducer,
  tube: Tube<In, Out>,
  payload: NoInfer<In>,
): Promise<JobReceipt> {
  return dq.now<In>(tube, payload);
}

// ── the module ──

class Config implements DqOptionsFactory {
  createDqOptions(): DqOptions {
    return {};
  }
}

const NODES = ['a:1', 'b:1'] as const;

/** As an application's own helper passes them on. */
export const named = (options: DqModuleAsyncOptions) => DqModule.forRootAsync({ ...options, name: 'fifth' });

@Module({
  imports: [
    DqModule.forRoot(),
    DqModule.forRoot({ beanstalks: NODES, redis: 'redis://a' }),
    DqModule.forRoot({ isGlobal: false, lease: '15s', handlers: { concurrency: 3 } }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: 'redis://a' }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: { host: 'a', password: 'b' } }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: new Redis({ lazyConnect: true }) }),
    DqModule.forRoot({ beanstalks: ['a:1'], redis: new Cluster(['a'], { lazyConnect: true }) }),
    DqModule.forRootAsync({ useClass: Config }),
    DqModule.forRootAsync({ useExisting: Config, isGlobal: false }),
    DqModule.forRootAsync({ inject: [Config], useFactory: (config: Config) => config.createDqOptions() }),
    DqModule.forRootAsync({ useFactory: async () => ({ prefix: 'a' }) }),
    // @ts-expect-error there is no such option
    DqModule.forRoot({ replica: 2 }),
    DqModule.forRoot({ name: 'second' }),
    DqModule.forRootAsync({ name: 'third', useFactory: () => ({}) }),
    DqModule.forRoot({ logLevels: { retries: 'debug', discards: 'off' } }),
    // @ts-expect-error there is no such level
    DqModule.forRoot({ logLevels: { retries: 'warning' } }),
    // @ts-expect-error nothing of that name is told
    DqModule.forRoot({ logLevels: { nodes: 'warn' } }),
    // @ts-expect-error handlers name their cluster themselves
    DqModule.forRoot({ handlers: { cluster: 'second' } }),
    // @ts-expect-error the name is told beside the factory
    DqModule.forRootAsync({ useFactory: () => ({ name: 'fourth' }) }),
    DqModule.forRoot({ embedded: { dir: '/var/lib/dq' } }),
    DqModule.forRoot({ embedded: 'memory' }),
    // @ts-expect-error a folder is given by `dir`
    DqModule.forRoot({ embedded: '/var/lib/dq' }),
    // @ts-expect-error there is no such option of the embedded node
    DqModule.forRoot({ embedded: { path: '/var/lib/dq' } }),
    // @ts-expect-error options belong in what the factory returns
    DqModule.forRootAsync({ useFactory: () => ({}), lease: '15s' }),
    // @ts-expect-error the class has no createDqOptions
    DqModule.forRootAsync({ useClass: OfController }),
  ],
})
export class App {}

/** A client of the application's own ioredis, of another major version: only its shape is known to us. */
class AnotherRedis {
  private readonly secret = 1;
  readonly status: string = 'ready';
  duplicate(override?: { db?: number }): AnotherRedis {
    return override ? this : new AnotherRedis();
  }
  protected reveal(): number {
    return this.secret;
  }
}
DqModule.forRoot({ beanstalks: ['a:1'], redis: new AnotherRedis() });

export const tokens = [getDqToken(), getDqToken('mails'), getDqToken('mails', DqConsumer)];
// @ts-expect-error nothing that is injected
getDqToken('mails', DelayedJob);
// @ts-expect-error a cluster without a name needs no decorator
InjectDq();

// ── the embedded node on its own ──

export async function serve(options: EmbeddedNodeOptions): Promise<ListenAddress> {
  const node = await EmbeddedNode.open(options);
  node.dial().write('stats\r\n');
  await node.listen();
  // @ts-expect-error a port is a number
  await node.listen({ port: '11300' });
  return node.listen({ port: 0, host: '::1', maxConnections: 10 });
}
// @ts-expect-error a node is opened, which may take its time
new EmbeddedNode();

// ── errors ──

const code: DqErrorCode = 'DQ_CONFIG';
// @ts-expect-error no such code
const noCode: DqErrorCode = 'DQ_OTHER';
export const codes = [code, noCode];
