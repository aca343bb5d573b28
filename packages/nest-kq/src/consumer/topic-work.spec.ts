import { expect, it } from '@jest/globals';
import { systemClock } from 'nest-handlers/time';
import type { LogMessage } from '../driver/message.js';
import type { WorkOwner } from './partition-work.js';
import { Pauses } from './pauses.js';
import { TopicWork, type Delivery, type Outcome } from './topic-work.js';

const PARTITIONS = [0, 1, 2, 3];

const messageOf = (offset: bigint): LogMessage => {
  return { offset, timestamp: 0, key: null, value: Buffer.from('x'), headers: {} };
};

/** Work of four partitions of topic `t`, each with two messages, and the places of those that ran. */
function workOf(handle: (work: TopicWork, pauses: Pauses) => void) {
  const ran: string[] = [];
  const pauses = new Pauses();
  const member = { pause: () => {}, resume: () => {} };
  const owner = { isConfirmed: () => true } as WorkOwner; // the rest is for transactions, of which there are none here
  const run = (deliveries: readonly Delivery[]): readonly Outcome[] => {
    const { partition, message } = deliveries[0]!;
    ran.push(`${partition}/${message.offset}`);
    handle(work, pauses);
    return ['handled'];
  };
  const room = { messages: 10, bytes: 1_000 };
  const options = { order: 'key', concurrency: 10, size: 1, within: 0, room } as const;
  const work: TopicWork = new TopicWork({ ...options, run }, member, systemClock, pauses, () => {}, owner);
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
