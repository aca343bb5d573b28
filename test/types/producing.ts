// Code that must compile and code that must not, checked by `tsc` alone: a line below `@ts-expect-error` that compiles is an error itself.
import {
  DqProducer,
  DqSeries,
  duration,
  type DqError,
  type Duration,
  type JobReceipt,
  type JobView,
  type RescheduleResult,
  type RevokeResult,
  type SeriesUpsert,
  type SkippedOccurrence,
  type TubeProducer,
} from 'nest-dq';
import {
  DqDeadLetters,
  type DeadLetter,
  type DiscardResult,
  type FailedAttempt,
  type ReviveResult,
} from 'nest-dq/operate';
import { type Equal, holds, type Order, OrderCancel, Reminder, Upload, Untyped } from './tubes.js';

// ── producing ──

export async function produce(dq: DqProducer): Promise<RevokeResult> {
  const order: Order = { id: '42', count: 1 };
  const receipt: JobReceipt = await dq.now(OrderCancel, order);
  await dq.delay(OrderCancel, order, '15m');
  await dq.delay(OrderCancel, order, 900_000, { priority: 'high', attempts: 3, headers: { tenant: 'a' } });
  await dq.at(OrderCancel, order, new Date(), { allowPast: true, backoff: { type: 'fixed', delay: '5s' } });
  await dq.now(OrderCancel, order, { group: 'user-17' });
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
  const added = await dq.addMany(OrderCancel, [{ payload: order, delay: '15m', key: '42' }], {
    results: true,
  });
  for (const { receipt: stored, error } of added) {
    // One of the two.
    if (stored) holds<Equal<typeof stored, JobReceipt>>();
    else holds<Equal<typeof error, DqError>>();
  }
  const receipts = await dq.addMany(OrderCancel, [{ payload: order }]);
  holds<Equal<typeof receipts, JobReceipt[]>>();
  await dq.addMany(OrderCancel, new Set([{ payload: order, at: new Date(), allowPast: true }]));

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
  await dq.addMany(OrderCancel, [
    { payload: order, delay: 1 },
    { payload: 5, delay: 1 },
  ]);
  // @ts-expect-error a delay or an instant, not both
  await dq.addMany(OrderCancel, [{ payload: order, delay: '15m', at: new Date() }]);
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
  // @ts-expect-error the id of a job finds nothing without its tube
  await dq.revoke(receipt.id);
  await dq.revoke(JSON.parse(JSON.stringify(receipt)) as JobReceipt);
  await dq.revoke({ tube: OrderCancel, key: '42' });
  await dq.revoke({ tube: OrderCancel, id: receipt.id });
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
  // An untyped tube takes any payload.
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
    holds<
      Equal<typeof view.state, 'waiting' | 'running' | 'retrying' | 'done' | 'revoked' | 'dead' | 'expired'>
    >();
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
    holds<Equal<typeof letter.failedAttempts, readonly FailedAttempt[] | undefined>>();
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
  // @ts-expect-error the smaller unit first
  '30m1h',
  // @ts-expect-error not known to the compiler
  ofEnvironment,
];

export async function delays(dq: DqProducer, orders: readonly Order[], minutes: number): Promise<void> {
  const REMIND_AFTER = '15m';
  await dq.delay(OrderCancel, orders[0]!, REMIND_AFTER);
  await dq.delay(OrderCancel, orders[0]!, `${minutes} minutes`);
  await dq.delay(OrderCancel, orders[0]!, minutes < 60 ? '15m' : '1h');
  await dq.addMany(
    OrderCancel,
    orders.map((payload) => ({ payload, delay: '15m', key: payload.id })),
  );
  const jobs = orders.map((payload) => ({ payload, delay: '15m' }) as const);
  await dq.addMany(OrderCancel, jobs);
  // @ts-expect-error a Date belongs in `at`
  await dq.delay(OrderCancel, orders[0]!, new Date());
}

export async function ends(dq: DqProducer, receipt: JobReceipt): Promise<string | undefined> {
  const end = await dq.finished<{ url: string }>(receipt, { timeout: '30s' });
  // @ts-expect-error a result is unknown unless its type is given
  const url: string = (await dq.tube(OrderCancel).finished({ key: 'a' })).result;
  // @ts-expect-error an end has no other outcome
  if (end.outcome === 'failed') return undefined;
  return end.result?.url ?? url;
}

/** A plain object is a valid fake, for unit tests of those who inject a producer. */
export const fake: DqProducer = {
  now: async () => ({}) as JobReceipt,
  delay: async () => ({}) as JobReceipt,
  at: async () => ({}) as JobReceipt,
  debounce: async () => ({}) as JobReceipt,
  throttle: async () => ({}) as JobReceipt,
  addMany: async () => [],
  revoke: async () => 'revoked',
  reschedule: async () => 'rescheduled',
  find: async () => undefined,
  finished: async () => ({ outcome: 'done', id: '', tube: '' }),
  tube: () => fakeOrders,
};

/** The same for one tube. */
export const fakeOrders: TubeProducer<any> = {
  now: async () => ({}) as JobReceipt,
  delay: async () => ({}) as JobReceipt,
  at: async () => ({}) as JobReceipt,
  debounce: async () => ({}) as JobReceipt,
  throttle: async () => ({}) as JobReceipt,
  addMany: async () => [],
  revoke: async () => 'revoked',
  reschedule: async () => 'rescheduled',
  find: async () => undefined,
  finished: async () => ({ outcome: 'done', id: '', tube: '' }),
};

export async function bound(dq: DqProducer): Promise<void> {
  const orders: TubeProducer<Order> = dq.tube(OrderCancel);
  const order: Order = { id: '42', count: 1 };
  await orders.now(order);
  await orders.delay(order, '15m', { key: '42' });
  await orders.at(order, new Date());
  await orders.debounce(order, { key: '42', wait: '5s', max: '1m', priority: 'low' });
  // @ts-expect-error it needs a key
  await orders.debounce(order, { wait: '5s' });
  await orders.throttle(order, { key: '42', per: '1m' });
  // @ts-expect-error throttle decides what happens to a duplicate
  await orders.throttle(order, { key: '42', per: '1m', onDuplicate: 'keep' });
  await orders.addMany([{ payload: order, delay: '15m' }]);
  await orders.addMany([{ payload: order, at: new Date() }]);
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

export async function plan(series: DqSeries): Promise<SeriesUpsert['status']> {
  const order: Order = { id: '42', count: 1 };
  await series.upsert('daily', { tube: OrderCancel, cron: '0 3 * * *', timeZone: 'UTC', payload: order });
  await series.upsert('often', { tube: 'any', every: '5m', jitter: 1_000, startAt: new Date(), times: 3 });
  // @ts-expect-error a payload of another type
  await series.upsert('wrong', { tube: OrderCancel, every: '5m', payload: { id: 42 } });
  // @ts-expect-error an interval is a duration
  await series.upsert('wrong', { tube: 'any', every: new Date() });
  const skipped = await series.skipNext('daily', { by: 'ann' });
  holds<Equal<typeof skipped, SkippedOccurrence | undefined>>();
  const { series: page, cursor } = await series.list({ prefix: 'd', limit: 10 });
  if (cursor !== undefined) await series.list({ cursor });
  for (const { name } of page) await series.remove(name);
  return (await series.upsert('daily', { tube: 'any', every: '1h' })).status;
}
