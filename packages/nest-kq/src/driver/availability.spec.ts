import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { systemClock, type Clock } from 'nest-handlers/time';
import { Availability } from './availability.js';
import type { BrokerClient } from './broker-client.js';
import type { TopicInfo } from './cluster.js';
import type { Unavailable } from './driver.js';

let answers: readonly TopicInfo[] | Error;
let told: (readonly Unavailable[])[];
/** How long it waits, and what then comes. */
let timer: { readonly delay: number; readonly look: () => void } | undefined;
let availability: Availability;
beforeEach(() => {
  told = [];
  const after: Clock['after'] = (delay, look) => {
    timer = { delay, look };
    return { cancel: () => (timer = undefined) };
  };
  const client = { clock: { ...systemClock, after }, log: { debug: () => {} } };
  const describe = async () => {
    if (answers instanceof Error) throw answers;
    return answers;
  };
  availability = new Availability(
    client as unknown as BrokerClient,
    { describe },
    (places) => void told.push(places),
  );
  availability.watch(['orders', 'mails', 'log.old'], new Set(['orders', 'mails']));
  availability.assign([0, 1].map((partition) => ({ topic: 'orders', partition })));
});
afterEach(() => availability.stop());

async function looks(next: readonly TopicInfo[] | Error): Promise<void> {
  answers = next;
  timer!.look();
  await new Promise(setImmediate);
}

const topic = (name: string, ...leaders: readonly number[]): TopicInfo => ({
  topic: name,
  partitions: leaders.map((leader, partition) => ({ partition, leader, replicas: 1 })),
});
const failing = (name: string, error: 'unknown' | 'refused') => ({ ...topic(name), error });
const well = [topic('orders', 1, 2, 1), topic('mails', 1), failing('log.old', 'unknown')];
const leaderless = { topic: 'orders', partition: 1, why: 'leaderless' };

it('reports what is missing in two looks, and what is back after one', async () => {
  await looks(well);
  expect(timer?.delay).toBe(5_000);
  await looks([topic('orders', 1, -1, -1), topic('mails', 1)]);
  expect(told).toEqual([]);
  expect(timer?.delay).toBe(1_000);
  await looks([topic('orders', 1, -1, -1), failing('mails', 'unknown')]);
  expect(told).toEqual([[leaderless]]); // of the other partition another member tells
  await looks([topic('orders', 1, -1, -1), failing('mails', 'unknown')]);
  expect(told.slice(1)).toEqual([[leaderless, { topic: 'mails', why: 'unknown' }]]);
  await looks(well);
  expect(told.slice(2)).toEqual([[]]);
  expect(timer?.delay).toBe(5_000);
});

it('reports nothing of an election, nor while no broker answers', async () => {
  await looks([topic('orders', -1, 1, 1), topic('mails', 1)]);
  await looks(new Error('away'));
  await looks(well);
  expect(told).toEqual([]);
});

it('knows a topic that may not be read', async () => {
  for (let look = 0; look < 3; look++) await looks([well[0]!, failing('mails', 'refused')]);
  expect(told).toEqual([[{ topic: 'mails', why: 'refused' }]]);
});
