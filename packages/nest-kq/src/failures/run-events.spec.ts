import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryBudget } from '../consumer/memory-budget.js';
import type { KqMessage } from '../api/received.js';
import { PartitionWork, type WorkOwner } from '../consumer/partition-work.js';
import { RunSignal } from '../consumer/run-signal.js';
import type { Delivery } from '../consumer/topic-work.js';
import { EventHub } from '../events/event-hub.js';
import type { KqEventMap, KqEventName } from '../events/events.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { resolveFailureOptions } from './failure-options.js';
import { HandlerRuns, type MessageHandler } from './handler-runs.js';

const slip = new Error('slip');
const run = new RunSignal();

/** Milliseconds, as the clock of the runs has them. */
let now: number;
let events: EventHub;
let failures: string[];
beforeEach(() => {
  now = 5_000;
  failures = [];
  events = new EventHub((who, { message }) => failures.push(`${who}: ${message}`));
});

/** Two messages for one run: their time is a second ago. */
const deliveries = (...values: string[]): Delivery[] =>
  values.map((value, index) => ({
    topic: 'orders',
    partition: 1,
    attempt: 1,
    message: {
      offset: BigInt(index),
      timestamp: 4_000,
      key: Buffer.from('k'),
      value: Buffer.from(value),
      headers: {},
    },
  }));

function runsOf(handler: MessageHandler, batches = false): HandlerRuns {
  const clock: Clock = { ...systemClock, now: () => now, wall: () => now };
  return new HandlerRuns(clock, {
    group: 'shop',
    topic: 'orders',
    handler,
    batches,
    settings: resolveFailureOptions(
      { deadLetter: 'drop', retry: { attempts: 2, backoff: 7 } },
      { topics: ['orders'], group: 'shop', dq: false },
    ),
    events,
    store: async () => undefined,
  });
}

function collect<N extends KqEventName>(name: N): KqEventMap[N][] {
  const told: KqEventMap[N][] = [];
  events.on(name).subscribe((event) => told.push(event));
  return told;
}

describe('the events of a run', () => {
  it('report how long it took and how late it was, with the message that the handler had', async () => {
    const told = collect('handled');
    let given: KqMessage | undefined;
    const runs = runsOf((_value, message: KqMessage) => {
      given = message;
      now += 30;
    });
    expect(await runs.run(deliveries('{"id":7}'), run)).toEqual(['handled']);
    expect(told).toEqual([{ message: given, group: 'shop', took: 30, lateness: 1_000 }]);
    expect(told[0]!.message).toBe(given);
    expect(given!.value).toEqual({ id: 7 });
  });

  it('are one for each message of a batch', async () => {
    const [handled, failed] = [collect('handled'), collect('failed')];
    const runs = runsOf((values: number[]) => {
      now += 30;
      return values.map((value) => (value === 2 ? slip : value));
    }, true);
    expect(await runs.run(deliveries('1', '2', '3'), run)).toEqual(['handled', { after: 7 }, 'handled']);
    expect(handled.map(({ message, took }) => [message.value, took])).toEqual([
      [1, 30],
      [3, 30],
    ]);
    expect(failed).toMatchObject([{ group: 'shop', error: slip, took: 30, after: 7 }]);
    expect(failed[0]!.message.value).toBe(2);
  });

  it('have the bytes of a message that cannot be read', async () => {
    const dropped = collect('dropped');
    await runsOf(() => undefined).run(deliveries('{'), run);
    expect(dropped).toMatchObject([{ group: 'shop', why: 'unreadable', runs: 0 }]);
    expect(dropped[0]!.message.value).toEqual(Buffer.from('{'));
  });

  it('report an error after the commit, of a message that counts as handled all the same', async () => {
    const told = (['handled', 'failedLate', 'failed', 'dropped'] as const).map(collect);
    const place = { topic: 'orders', partition: 1 };
    const work = new PartitionWork(
      place,
      'partition',
      { messages: 10, budget: new MemoryBudget(1e9) },
      {} as WorkOwner,
    );
    work.committed = 1n; // by a transaction
    const both = deliveries('1', '2').map((delivery) => ({ ...delivery, work }));
    const runs = runsOf(() => {
      now += 30;
      throw slip;
    });
    expect(await runs.run([both[0]!], run)).toEqual(['handled']);
    expect(await runs.run([both[1]!], run)).toEqual([{ after: 7 }]);
    expect(told).toMatchObject([
      [{ message: { value: 1 }, took: 30 }],
      [{ message: { value: 1 }, group: 'shop', error: slip, took: 30 }],
      [{ message: { value: 2 }, error: slip }],
      [],
    ]);
  });

  it('are not emitted for a run whose outcome no longer counts', async () => {
    const told = [collect('handled'), collect('failed')];
    const lost = new RunSignal();
    lost.cut();
    await runsOf(() => undefined).run(deliveries('1'), lost);
    await runsOf(() => Promise.reject(slip)).run(deliveries('1'), lost);
    expect(told).toEqual([[], []]);
  });

  it('change nothing where a listener throws', async () => {
    events.listen('handled', () => Promise.reject(slip), 'Pager.handled');
    events.listen(
      'failed',
      () => {
        throw slip;
      },
      'Pager.failed',
    );
    const told = [collect('handled'), collect('failed')];
    const runs = runsOf((value) => {
      if (value === 2) throw new Error('no');
    });
    expect(await runs.run(deliveries('1'), run)).toEqual(['handled']);
    expect(await runs.run(deliveries('2'), run)).toEqual([{ after: 7 }]);
    expect(told.map(({ length }) => length)).toEqual([1, 1]);
    expect(failures).toEqual(['Pager.handled at `handled`: slip', 'Pager.failed at `failed`: slip']);
  });

  it('are not made where nobody listens', async () => {
    const made: KqEventName[] = [];
    const tell = events.emit.bind(events);
    events.emit = (name, event) => {
      made.push(name);
      tell(name, event);
    };
    const runs = runsOf((value) => {
      if (value === 2) throw slip;
    });
    await runs.run(deliveries('1'), run);
    await runs.run(deliveries('2'), run);
    expect(made).toEqual([]);
    collect('handled');
    await runs.run(deliveries('1'), run);
    expect(made).toEqual(['handled']);
  });
});
