import { describe, expect, it } from '@jest/globals';
import { systemClock, type Clock } from 'nest-handlers/time';
import { MemoryBudget } from './memory-budget.js';
import type { LogMessage } from '../driver/message.js';
import type { WorkOwner } from './partition-work.js';
import { Pauses } from './pauses.js';
import { TopicWork, type Delivery, type Outcome, type WorkOptions } from './topic-work.js';

const PARTITIONS = [0, 1, 2, 3];
const owner = { isConfirmed: () => true } as Partial<WorkOwner> as WorkOwner; // the rest is for transactions, of which there are none here

const messageOf = (offset: bigint): LogMessage => {
  return { offset, timestamp: 0, key: null, value: Buffer.from('x'), headers: {} };
};

/** Work by these options; by default one message a run, 10 runs at a time, each key in its order. */
function newWork(
  options: Partial<WorkOptions> & Pick<WorkOptions, 'run'>,
  clock: Clock = systemClock,
  pauses = new Pauses(),
): TopicWork {
  const room = { messages: 10, budget: new MemoryBudget(1e9) };
  const member = { pause: () => {}, resume: () => {} };
  const defaults = { order: 'key', concurrency: 10, size: 1, within: 0, room } as const;
  return new TopicWork({ ...defaults, ...options }, member, clock, pauses, () => {}, owner);
}

/** Work of four partitions of topic `t`, each with two messages, and the places of those that ran. */
function workOf(handle: (work: TopicWork, pauses: Pauses) => void) {
  const ran: string[] = [];
  const pauses = new Pauses();
  const run = (deliveries: readonly Delivery[]): readonly Outcome[] => {
    const { partition, message } = deliveries[0]!;
    ran.push(`${partition}/${message.offset}`);
    handle(work, pauses);
    return ['handled'];
  };
  const work: TopicWork = newWork({ run }, systemClock, pauses);
  pauses.pause();
  const places = PARTITIONS.map((partition) => ({ topic: 't', partition }));
  work.assigned(places, false);
  for (const place of places)
    work.batch({ ...place, messages: [messageOf(0n), messageOf(1n)], next: 2n, end: 2n });
  expect(ran).toEqual([]);
  pauses.resume();
  work.pausesChanged();
  return ran;
}

const ALL = PARTITIONS.flatMap((partition) => [`${partition}/0`, `${partition}/1`]);

it('runs each message once where handlers end at once', () => {
  expect(workOf(() => {}).sort()).toEqual(ALL);
});

it('runs each message once where a handler pauses and resumes while it is called', () => {
  const ran = workOf((work, pauses) => {
    pauses.pause('t');
    work.pausesChanged();
    pauses.resume('t');
    work.pausesChanged();
  });
  expect(ran.sort()).toEqual(ALL);
});

it('begins nothing more once a handler has paused', () => {
  const ran = workOf((work, pauses) => {
    pauses.pause();
    work.pausesChanged();
  });
  expect(ran).toHaveLength(1);
});

describe('a partition of which one message is not handled', () => {
  const place = { topic: 't', partition: 3 };
  const messages = (count: number) => Array.from({ length: count }, (_, index) => messageOf(BigInt(index)));

  /** Its first message runs until `end`. The clock moves by `pass`. */
  function stuck(lookAhead: number) {
    const stalls: unknown[] = [];
    const timers: (() => void)[] = [];
    const clock: Clock = {
      ...systemClock,
      after: (_, callback) => {
        timers.push(callback);
        return { cancel: () => {} };
      },
    };
    let end = () => {};
    const first = new Promise<readonly Outcome[]>((resolve) => (end = () => resolve(['handled'])));
    const work = newWork(
      {
        order: 'none',
        room: { messages: lookAhead, budget: new MemoryBudget(1e9) },
        run: ([delivery]) => (delivery!.message.offset === 0n ? first : ['handled']),
        stalled: (stall) => stalls.push(stall),
      },
      clock,
    );
    work.assigned([place], false);
    const pass = () => {
      for (const timer of timers.splice(0)) timer();
    };
    return { work, stalls, pass, end, first };
  }

  it('is reported once when it stops fetching for that', async () => {
    const { work, stalls, pass, end, first } = stuck(20);
    work.batch({ ...place, messages: messages(20), next: 20n, end: 99n });
    const [partition] = work.works;
    expect([stalls, partition!.stalled]).toEqual([[], false]);
    for (let times = 0; times < 3; times++) pass();
    expect(stalls).toEqual([{ ...place, offset: 0n, behind: 19, after: 10_000 }]);
    expect(partition!.stalled).toBe(true);
    end();
    await first;
    await new Promise(setImmediate);
    pass();
    expect([stalls.length, partition!.stalled, partition!.watermark]).toEqual([1, false, 20n]);
  });

  it('is not reported while it still fetches', () => {
    const { work, stalls, pass } = stuck(20);
    work.batch({ ...place, messages: messages(19), next: 19n, end: 99n });
    for (let times = 0; times < 3; times++) pass();
    expect(stalls).toEqual([]);
  });
});

it('reports messages that were removed before they could be handled', () => {
  const skips: unknown[] = [];
  const work = newWork({ run: () => ['handled'], skipped: (skip) => skips.push(skip) });
  const place = { topic: 't', partition: 0 };
  work.assigned([place], false);
  work.batch({ ...place, messages: [messageOf(7n)], next: 8n, end: 8n, lost: { from: 3n, to: 7n } });
  work.batch({ ...place, messages: [messageOf(8n)], next: 9n, end: 9n });
  expect(skips).toEqual([{ ...place, from: 3n, to: 7n }]);
});

describe('a key with several messages, when the work ends', () => {
  const place = { topic: 't', partition: 0 };

  /** @param keys Of the messages, by their offsets. */
  function started(keys = 'aabac', size = 1) {
    let now = 0;
    const ends = new Map<bigint, () => void>();
    const clock: Clock = { ...systemClock, now: () => now, after: () => ({ cancel: () => {} }) };
    const run = (deliveries: readonly Delivery[]) =>
      new Promise<readonly Outcome[]>((resolve) => {
        const end = () => resolve(deliveries.map(() => 'handled'));
        for (const { message } of deliveries) ends.set(message.offset, end);
      });
    const work = newWork({ concurrency: 2, size, run }, clock);
    work.assigned([place], false);
    const messages = Array.from(keys, (key, offset) => ({
      ...messageOf(BigInt(offset)),
      key: Buffer.from(key),
    }));
    work.batch({ ...place, messages, next: 5n, end: 5n });
    const end = async (offset: bigint) => {
      ends.get(offset)!();
      await new Promise(setImmediate);
      return [...ends.keys()];
    };
    const pass = (milliseconds: number) => void (now += milliseconds);
    const watermark = () => [...work.works][0]!.watermark;
    return { work, end, pass, watermark };
  }

  it.each(['rejoin', 'stop'] as const)(
    'begins only those that come before one that has begun (%s)',
    async (how) => {
      const { work, end, watermark } = started();
      const over = work[how](1_000);
      await expect(end(2n)).resolves.toEqual([0n, 2n]);
      await expect(end(0n)).resolves.toEqual([0n, 2n, 1n]);
      await expect(end(1n)).resolves.toEqual([0n, 2n, 1n]);
      await over;
      expect(watermark()).toBe(3n);
    },
  );

  it('begins none of them once the time for it is over', async () => {
    const { work, end, pass, watermark } = started();
    const over = work.rejoin(1_000);
    pass(1_000);
    await expect(end(2n)).resolves.toEqual([0n, 2n]);
    await expect(end(0n)).resolves.toEqual([0n, 2n]);
    await over;
    expect(watermark()).toBe(1n);
  });

  it('begins none of them once nothing runs any more, since the group may have given them to others', async () => {
    const { work, end } = started();
    const over = work.rejoin(1_000);
    for (const offset of [2n, 0n, 1n]) await end(offset);
    await over;
    work.confirmed();
    await expect(end(1n)).resolves.toEqual([0n, 2n, 1n]);
  });

  it('fills a batch with none that comes after all that have begun', async () => {
    const { work, end } = started('aaaba', 2);
    const over = work.rejoin(1_000);
    await expect(end(0n)).resolves.toEqual([0n, 1n, 3n, 2n]);
    for (const offset of [3n, 2n]) await end(offset);
    await over;
  });
});
