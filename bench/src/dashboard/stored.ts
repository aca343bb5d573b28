import { Logger } from '@nestjs/common';
import { Discard } from 'nest-dq';
import type { DqInspector } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { CONCURRENCY } from '../drain-round.js';
import { inFlight } from '../in-flight.js';
import { payloadOf, payloads } from '../payload.js';
import { addResidents } from '../residents.js';
import { stderrLogger } from '../stderr-logger.js';
import type { Client } from '../systems/product.js';
import type { System } from '../systems/system.js';
import { repeatHistory } from './history.js';

const MONTH = 30 * 86_400_000;
/** Milliseconds, longer than the measure: so nobody consumes these jobs. */
const SOON = 1_200_000;
/** Milliseconds: a million jobs are in their index some seconds after the last add. */
const UNTIL_LISTED = 120_000;

export const LARGEST = 'orders';
export const OTHERS: readonly string[] = ['mails', 'invoices', 'reminders', 'reports'];
export const GIVEN_UP = 'given-up';
export const KEY = 'order-42';

/** Numbers of jobs and dead letters in the store. */
export interface Stored {
  readonly jobs: number;
  readonly letters: number;
}

/** Stores jobs that wait for up to a month, six of ten in the largest tube; dead letters; and a history of two days. */
export async function storeAll(
  { client, servers }: System,
  inspector: DqInspector,
  { jobs, letters }: Stored,
): Promise<void> {
  await storeLetters(client, inspector, letters);
  const queues = [...OTHERS, ...Array.from({ length: 6 }, () => LARGEST)];
  await addResidents(client, jobs, { queues, delayOf: () => SOON + Math.floor(Math.random() * MONTH) });
  await client.delay(LARGEST, payloadOf(jobs), MONTH, KEY);
  await eventually('all jobs are listed', async () => (await listedOf(inspector)) > jobs, UNTIL_LISTED);
  await repeatHistory(servers.redis, inspector, LARGEST);
}

async function storeLetters(client: Client, inspector: DqInspector, letters: number): Promise<void> {
  Logger.overrideLogger(false); // each dead letter is a warning
  const give = () => Discard.because('the customer has no address');
  const stop = await client.consume(GIVEN_UP, give, CONCURRENCY);
  await inFlight(payloads(letters), (payload) => client.now(GIVEN_UP, payload));
  const dead = async () => (await inspector.tube(GIVEN_UP)).dead ?? 0;
  await eventually('all of them are dead', async () => (await dead()) >= letters);
  await stop();
  Logger.overrideLogger(stderrLogger);
}

/** How many jobs the tubes list. */
export async function listedOf(inspector: DqInspector): Promise<number> {
  const tubes = await Promise.all([LARGEST, ...OTHERS].map((tube) => inspector.tube(tube)));
  return tubes.reduce((sum, { listed = 0 }) => sum + listed, 0);
}
