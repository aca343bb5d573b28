// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import {
  Controller,
  Injectable,
  ParseIntPipe,
  createParamDecorator,
  type ArgumentsHost,
  type ExecutionContext,
} from '@nestjs/common';
import {
  Again,
  CurrentJob,
  DelayedHandler,
  DelayedJob,
  DelayedPayload,
  Discard,
  DqConsumer,
  DqProducer,
  InjectDq,
  Recurring,
  Retry,
  isDqContext,
  type JobReceipt,
  type Tube,
} from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { TopicHandler } from 'nest-kq';
import { type Order, OrderCancel, Reminder, Upload, Dto, Instance } from './tubes.js';

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

  @DelayedHandler(OrderCancel, {
    concurrency: 50,
    attempts: 3,
    backoff: { type: 'exponential', max: '10m' },
    limit: { rate: 600, per: '1m', burst: 10, concurrency: 5, perGroup: 1 },
  })
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

  // @ts-expect-error of a generator nothing would run
  @DelayedHandler(OrderCancel)
  async *generator(_order: Order): AsyncGenerator<number> {
    yield 1;
  }

  // @ts-expect-error the same of one that isn't async, and whose type is inferred
  @DelayedHandler('any.tube')
  *inferred() {
    yield 1;
  }

  // @ts-expect-error the same of a series
  @Recurring('nightly', '0 3 * * *')
  async *series() {
    yield 1;
  }

  @DelayedHandler('any.tube')
  fails(): never {
    throw new Error('always');
  }

  @DelayedHandler('any.tube')
  many(): Iterable<string> | undefined {
    return [];
  }

  @DelayedHandler('any.tube')
  whatever(): any {}

  // @ts-expect-error of a generator nothing would run
  @TopicHandler('any.topic')
  async *ofTopic(_value: string) {
    yield 1;
  }

  // @ts-expect-error the same of batches
  @TopicHandler('any.topic', { batch: { size: 5 } })
  *ofBatch(_values: string[]) {
    yield 1;
  }

  @TopicHandler('any.topic')
  topic(_value: string): unknown {
    return undefined;
  }

  @DelayedHandler(OrderCancel, { batch: { size: 100, wait: '200ms' }, concurrency: 2 })
  batch(orders: Order[], jobs: readonly DelayedJob<Order>[]): (Error | undefined)[] {
    return orders.map(({ id }, i) => (jobs[i]!.attempt > 1 ? new Error(id) : undefined));
  }

  @DelayedHandler([OrderCancel], { batch: { size: 100 } })
  batchOfSeveral(orders: readonly { id: string }[], [job]: readonly DelayedJob[]) {
    return Promise.allSettled(orders.map(async ({ id }) => job!.id + id));
  }

  @DelayedHandler('any.tube', { batch: { size: 100 } })
  batchOfAny(
    @DelayedPayload() _payloads: number[],
    @CurrentJob() _jobs: readonly DelayedJob[],
    @User() _user: string,
  ) {}

  // @ts-expect-error a batch comes as a list
  @DelayedHandler(OrderCancel, { batch: { size: 100 } })
  notAList(_order: Order): void {}

  // @ts-expect-error the same of a tube without a type
  @DelayedHandler('any.tube', { batch: { size: 100 } })
  noList(_payload: { id: string }): void {}

  // @ts-expect-error the jobs come as a list, too
  @DelayedHandler(OrderCancel, { batch: { size: 100 } })
  notAListOfJobs(_orders: Order[], _job: DelayedJob<Order>): void {}

  // @ts-expect-error without `batch` one job comes
  @DelayedHandler(OrderCancel)
  noBatch(_orders: Order[]): void {}

  // @ts-expect-error a batch has a size
  @DelayedHandler(OrderCancel, { batch: { wait: '200ms' } })
  noSize(_orders: Order[]): void {}

  // @ts-expect-error a series has one job
  @Recurring('nightly', '0 3 * * *', { batch: { size: 100 } })
  seriesInBatches(): void {}

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

  // @ts-expect-error the cluster name is a text
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
  await consumer.consume(OrderCancel, (orders, [job]) => orders.map(({ count }) => count + job!.attempt), {
    batch: { size: 10 },
  });
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
