import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryBudget } from './memory-budget.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { systemClock } from 'nest-handlers/time';
import { GroupConsumer, type GroupConsumerOptions, type Subscription } from './group-consumer.js';
import type { RunSignal } from './run-signal.js';
import { Pauses } from './pauses.js';
import type { Delivery, Outcome } from './topic-work.js';

const log = { debug: () => {}, warn: () => {}, error: () => {} };

/** A run that has begun and that the test ends. */
interface Run {
  readonly values: readonly string[];
  readonly signal: AbortSignal;
  readonly end: (...outcomes: readonly Outcome[]) => void;
}

let driver: MemoryDriver;
let opened: GroupConsumer[];
let runs: Run[];
let begun: () => void;
beforeEach(() => {
  driver = new MemoryDriver({ clock: systemClock, log, partitions: 1 });
  opened = [];
  runs = [];
  begun = () => {};
});
afterEach(async () => {
  for (const run of runs) run.end();
  for (const each of opened) await each.stop(0);
  await driver.close();
});

const textOf = ({ message }: Delivery) => String(message.value);

/** A handler that ends its runs only when the test says so. */
function held(deliveries: readonly Delivery[], { signal }: RunSignal): Promise<readonly Outcome[]> {
  return new Promise((resolve) => {
    const all = deliveries.map((): Outcome => 'handled');
    const end = (...outcomes: readonly Outcome[]) => resolve(outcomes.length > 0 ? outcomes : all);
    runs.push({ values: deliveries.map(textOf), signal, end });
    begun();
  });
}

async function consume(
  over: Partial<Subscription> = {},
  options: Partial<GroupConsumerOptions> = {},
): Promise<GroupConsumer> {
  const subscription: Subscription = {
    topics: ['t'],
    order: 'key',
    concurrency: 10,
    size: 1,
    within: 0,
    room: { messages: 1000, budget: new MemoryBudget(1e9) },
    run: held,
    ...over,
  };
  const consumer = new GroupConsumer(driver, systemClock, {
    group: 'g',
    from: 'first',
    commitEvery: 0,
    pauses: new Pauses(),
    joined: () => {},
    lapsed: () => {},
    cut: () => {},
    subscriptions: [subscription],
    failed: (error) => {
      throw error;
    },
    ...options,
  });
  opened.push(consumer);
  await consumer.start();
  return consumer;
}

/** Values such as `a1` have the key `a`; `-1` has none. */
async function push(...values: readonly string[]): Promise<void> {
  const messages = values.map((value) => ({
    key: value.startsWith('-') ? null : Buffer.from(value[0]!),
    value: Buffer.from(value),
  }));
  for (const sent of await driver.producer().send('t', messages)) if (sent instanceof Error) throw sent;
}

/** Resolves once `count` runs have begun. */
function untilRuns(count: number): Promise<void> {
  return new Promise((resolve) => {
    begun = () => {
      if (runs.length >= count) resolve();
    };
    begun();
  });
}

/** Resolves once the memory log and the consumer have nothing more to do by themselves. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
}

const begunValues = () => runs.map(({ values }) => values.join());
const endOf = (value: string) => runs.find(({ values }) => values.includes(value))!.end;

/** 0 also where the group has committed nothing: it begins at the first message. */
async function committed(): Promise<bigint> {
  const [first] = await driver.admin.committed('g', 't');
  return first?.offset ?? 0n;
}

describe('GroupConsumer', () => {
  it('runs different keys at the same time, and one key in its order', async () => {
    await consume();
    await push('a1', 'a2', 'b1', 'b2', '-1', '-2');
    await untilRuns(4);
    expect(begunValues()).toEqual(['a1', 'b1', '-1', '-2']);
    endOf('b1')();
    await untilRuns(5);
    expect(begunValues()[4]).toBe('b2');
  });

  it('runs a partition in its order, or all messages at the same time', async () => {
    await consume({ order: 'partition' }, { group: 'ordered' });
    await push('a1', 'b1');
    await settled();
    expect(begunValues()).toEqual(['a1']);
    await consume({ order: 'none' }, { group: 'free' });
    await untilRuns(3);
    expect(begunValues()).toEqual(['a1', 'a1', 'b1']);
  });

  it('runs at most its concurrency at a time', async () => {
    await consume({ concurrency: 2 });
    await push('a1', 'b1', 'c1');
    await settled();
    expect(begunValues()).toEqual(['a1', 'b1']);
    endOf('a1')();
    await untilRuns(3);
  });

  it('commits up to the first message that is not handled', async () => {
    await consume();
    await push('a1', 'b1', 'c1');
    await untilRuns(3);
    endOf('c1')();
    await settled();
    expect(await committed()).toBe(0n); // nothing below a1
    endOf('a1')();
    await untilCommitted(1n);
    endOf('b1')();
    await untilCommitted(3n);
  });

  it('runs a message again after its wait, before later ones of its key, and lets other keys continue', async () => {
    await consume();
    await push('a1', 'a2', 'b1');
    await untilRuns(2);
    endOf('a1')({ after: 1 });
    endOf('b1')();
    await untilRuns(3);
    expect(begunValues()).toEqual(['a1', 'b1', 'a1']);
    expect(await committed()).toBe(0n);
    runs[2]!.end('handled');
    await untilRuns(4);
    expect(begunValues()[3]).toBe('a2');
  });

  it('holds a key while a message of it waits', async () => {
    await consume();
    await push('a1', 'a2', 'b1');
    await untilRuns(2);
    endOf('a1')({ after: 3_600_000 });
    await settled();
    await push('a3', 'c1');
    await untilRuns(3);
    expect(begunValues()).toEqual(['a1', 'b1', 'c1']);
  });

  it('stops fetching a partition that is full, and resumes at half', async () => {
    await consume({ concurrency: 1, room: { messages: 4, budget: new MemoryBudget(1e9) } });
    const fetched = countFetched();
    await push('a1', 'a2', 'a3', 'a4');
    await untilRuns(1);
    await push('a5', 'a6');
    await settled();
    expect(fetched()).toBe(4);
    for (let run = 0; run < 6; run++) {
      await untilRuns(run + 1);
      runs[run]!.end();
    }
    expect(begunValues()).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'a6']);
  });

  it('gives a batch up to its size, at once when it is full and otherwise after its wait', async () => {
    await consume({ size: 3, within: 1 });
    await push('a1', 'a2', 'b1', 'b2');
    await untilRuns(1);
    expect(begunValues()).toEqual(['a1,a2,b1']);
    await settled();
    runs[0]!.end('handled', { after: 0 }, 'handled');
    await untilRuns(2);
    expect(begunValues()[1]).toMatch(/^(a2|b2)/);
    runs[1]!.end();
    if (!begunValues()[1]!.includes(',')) await untilRuns(3);
    runs[2]?.end();
    await untilCommitted(4n);
  });

  it('lets running handlers end before it leaves, begins nothing more, and commits them', async () => {
    const consumer = await consume({ concurrency: 1 });
    await push('a1', 'a2');
    await untilRuns(1);
    const stopped = consumer.stop(60_000);
    endOf('a1')();
    await stopped;
    expect(begunValues()).toEqual(['a1']);
    expect(await committed()).toBe(1n);
  });

  it('aborts handlers that run too long at a stop, and leaves them to the next member', async () => {
    const consumer = await consume();
    await push('a1');
    await untilRuns(1);
    await consumer.stop(0);
    expect(runs[0]!.signal.aborted).toBe(true);
    runs[0]!.end('handled'); // too late to count
    await consume();
    await untilRuns(2);
    expect(begunValues()).toEqual(['a1', 'a1']);
  });

  it('drops the work of a partition that it has lost, and continues with those that stay', async () => {
    await driver.admin.createTopics([{ topic: 't', partitions: 2 }]);
    const first = await consume({ order: 'partition' }, { rebalanceTimeout: 100 });
    const send = (partition: number, value: string) =>
      driver.producer().send('t', [{ key: null, value: Buffer.from(value), partition }]);
    await send(0, 'p0-1');
    await send(1, 'p1-1');
    await send(0, 'p0-2');
    await send(1, 'p1-2');
    await untilRuns(2);
    await consume({ order: 'partition' });
    await untilRuns(3); // the second member begins what the first one has lost
    const [lost] = runs.slice(0, 2).filter(({ signal }) => signal.aborted);
    expect(runs[2]!.values).toEqual(lost!.values);
    for (const run of runs) run.end();
    await untilRuns(5);
    for (const run of runs) run.end();
    expect(begunValues().toSorted()).toEqual(
      [...begunValues().slice(0, 2), lost!.values.join(), 'p0-2', 'p1-2'].toSorted(),
    );
    await first.stop(60_000);
  });

  it('lets running handlers finish before it rejoins, begins nothing meanwhile, and commits all of it', async () => {
    await consume();
    await push('a1', 'b1');
    await untilRuns(2);
    const joining = consume();
    await push('c1');
    endOf('a1')();
    await settled();
    expect(begunValues()).toEqual(['a1', 'b1']);
    endOf('b1')();
    await joining;
    expect(await committed()).toBe(2n);
    await untilRuns(3);
    expect(begunValues()).toEqual(['a1', 'b1', 'c1']);
  });

  it('reports which handlers still run when their partitions go to others, and aborts them', async () => {
    driver = new MemoryDriver({ clock: systemClock, log, partitions: 2 });
    const told: unknown[] = [];
    const cut = (partitions: unknown) => void told.push(partitions);
    await consume({}, { cut, rebalanceTimeout: 100 });
    const [first, second] = [0, 1].map((partition) => ({
      key: null,
      value: Buffer.from(`-${partition}`),
      partition,
    }));
    await driver.producer().send('t', [first!, second!]);
    await untilRuns(2);
    await consume({}, { cut });
    await untilRuns(3);
    expect(told).toEqual([[{ topic: 't', partition: 1, runs: 1 }]]);
    expect(begunValues()).toEqual(['-0', '-1', '-1']);
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([false, true, false]);
  });

  it('begins nothing after it may have lost its partitions, until the group confirms them', async () => {
    const told: string[] = [];
    let lapsed = (_error: Error) => {};
    const lapsing = new Promise<Error>((resolve) => (lapsed = resolve));
    const joined = (places: readonly unknown[]) => void told.push(`has ${places.length}`);
    const consumer = await consume({ concurrency: 1 }, { joined, lapsed });
    await push('a1', 'b1', 'c1');
    await untilRuns(1);
    consumer.confirmed(systemClock.now() - 1);
    endOf('a1')(); // before the consumer can have noticed
    await settled();
    expect(begunValues()).toEqual(['a1']);
    expect((await lapsing).message).toContain('KQ_AWAY: the group g has not answered');
    consumer.confirmed(systemClock.now() + 60_000);
    await untilRuns(2);
    expect(told).toEqual(['has 1', 'has 1']);
    expect(runs[0]!.signal.aborted).toBe(false);
  });

  it('aborts running handlers, and reports it, when it was put out of the group', async () => {
    const told: unknown[] = [];
    const options = { cut: (partitions: unknown) => void told.push(partitions), failed: () => {} };
    const consumer = await consume({}, options);
    await push('a1', 'b1');
    await untilRuns(2);
    consumer.failed(new KqError('KQ_AWAY', 'put out'), 0);
    expect(told).toEqual([[{ topic: 't', partition: 0, runs: 2 }]]);
    expect(runs.map(({ signal }) => signal.aborted)).toEqual([true, true]);
  });

  it('reports a run that ended while the partition may have been lost, if it was', async () => {
    const told: unknown[] = [];
    const options = { cut: (partitions: unknown) => void told.push(partitions), failed: () => {} };
    const consumer = await consume({}, options);
    await push('a1', 'b1');
    await untilRuns(2);
    consumer.confirmed(systemClock.now() - 1);
    endOf('a1')();
    await settled();
    consumer.confirmed(systemClock.now() + 60_000);
    consumer.confirmed(systemClock.now() - 1);
    endOf('b1')();
    await settled();
    consumer.failed(new KqError('KQ_AWAY', 'put out'), 0);
    expect(told).toEqual([[{ topic: 't', partition: 0, runs: 1 }]]);
  });

  it('reports it even where an earlier answer comes in between', async () => {
    const told: unknown[] = [];
    const joined = () => void told.push('joined');
    const lapsed = () => void told.push('lapsed');
    const cut = (partitions: unknown) => void told.push(partitions);
    const consumer = await consume({}, { joined, lapsed, cut, failed: () => {} });
    await push('a1');
    await untilRuns(1);
    consumer.confirmed(systemClock.now() - 1);
    endOf('a1')();
    while (told.length < 2) await settled();
    consumer.confirmed(systemClock.now() - 1);
    await settled();
    consumer.failed(new KqError('KQ_AWAY', 'put out'), 0);
    expect(told).toEqual(['joined', 'lapsed', [{ topic: 't', partition: 0, runs: 1 }]]);
  });

  it('reports a run that has blocked the process for so long that its partition may have been lost, if it was', async () => {
    const told: unknown[] = [];
    const cut = (partitions: unknown) => void told.push(partitions);
    const standstill = () => consumer.confirmed(systemClock.now() - 1);
    const run = (deliveries: readonly Delivery[]) => {
      standstill();
      return deliveries.map((): Outcome => 'handled');
    };
    const consumer = await consume({ run }, { cut, failed: () => {} });
    await push('a1');
    await untilCommitted(1n);
    consumer.failed(new KqError('KQ_AWAY', 'put out'), 0);
    expect(told).toEqual([[{ topic: 't', partition: 0, runs: 1 }]]);
  });

  it('begins nothing while it is paused, even after a rebalance', async () => {
    const pauses = new Pauses();
    const consumer = await consume({}, { pauses });
    pauses.pause();
    consumer.pausesChanged();
    const second = await consume({}, { pauses });
    await second.stop(0);
    await push('a1');
    await settled();
    expect(runs).toEqual([]);
    pauses.resume();
    consumer.pausesChanged();
    await untilRuns(1);
  });

  it('continues with other topics while one is paused, then with the backlog of that one', async () => {
    const pauses = new Pauses();
    const consumer = await consume({ topics: ['t', 'u'], concurrency: 1 }, { pauses });
    await push('a1', 'a2', 'b1');
    await untilRuns(1);
    pauses.pause('t');
    consumer.pausesChanged();
    runs[0]!.end();
    for (const value of ['u1', 'u2'])
      await driver.producer().send('u', [{ key: Buffer.from('u'), value: Buffer.from(value) }]);
    for (const count of [2, 3]) {
      await untilRuns(count);
      runs[count - 1]!.end();
    }
    await settled();
    expect(begunValues()).toEqual(['a1', 'u1', 'u2']);
    pauses.resume('t');
    consumer.pausesChanged();
    for (const count of [4, 5]) {
      await untilRuns(count);
      runs[count - 1]!.end();
    }
    expect(begunValues().toSorted()).toEqual(['a1', 'a2', 'b1', 'u1', 'u2']);
  });
});

async function untilCommitted(offset: bigint): Promise<void> {
  while ((await committed()) !== offset) await new Promise(setImmediate);
}

/** How many messages the log has given out. */
function countFetched(): () => number {
  let count = 0;
  for (const consumer of opened) {
    const take = consumer.batch.bind(consumer);
    consumer.batch = (batch) => {
      count += batch.messages.length;
      take(batch);
    };
  }
  return () => count;
}
