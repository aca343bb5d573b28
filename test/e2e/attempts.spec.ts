// The attempts of a job that is retried, as another process and the command line see them.
import { hostname } from 'node:os';
import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from 'test-servers';
import { startProgram } from '../support/program.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const suite = clusterSuite();

/** Starts a process that fails twice, and resolves when its third attempt runs. */
async function failedTwice(tube: string, more: object = {}) {
  const options = { ...optionsOf(suite.servers), ...more };
  const { child } = startProgram(
    'support/retrying-process.mjs',
    JSON.stringify({ tube, options }),
    () => undefined,
  );
  const system = suite.start({ consume: false });
  const receipt = await system.producer.now(tube, { order: 42 }, { key: 'order-42' });
  const find = () => system.producer.find(receipt);
  await eventually('it failed twice', async () => {
    const found = await find();
    return found?.state === 'running' && found.attempt === 3;
  });
  return { ...system, receipt, child };
}

async function bytesOf(key: string): Promise<number> {
  const redis = new Redis(suite.servers.redis.url);
  const bytes = await redis.memory('USAGE', key);
  redis.disconnect();
  return bytes!;
}

it('are shown with error, process, time and duration until the job succeeds', async () => {
  const tube = 'payment.collect';
  const { inspector, producer, receipt, child } = await failedTwice(tube);
  const announced = async () => (await inspector.explain(receipt)).maxAttempts === 6;
  await eventually('the process announced its handler', announced);
  const found = await inspector.explain({ tube, id: receipt.id });
  expect(found).toMatchObject({ because: 'running', key: 'order-42', attempt: 3, maxAttempts: 6 });
  expect(found).not.toHaveProperty('backoff'); // a function
  const kept = (attempt: number) => ({
    attempt,
    startedAt: expect.any(Date),
    took: expect.any(Number),
    process: `${hostname()}:${child.pid}`,
    error: { name: 'RangeError', message: `attempt ${attempt} found no card` },
  });
  expect(found.failedAttempts).toEqual([kept(1), kept(2)]);
  const [first, second] = found.failedAttempts!.map(({ startedAt }) => startedAt.getTime());
  expect(first).toBeGreaterThanOrEqual(found.firstDueAt!.getTime() - 1);
  expect(second).toBeGreaterThanOrEqual(first!);
  child.stdin.write('\n');
  await eventually('it succeeded', async () => (await producer.find(receipt))?.state === 'done');
  expect(await inspector.explain(receipt)).not.toHaveProperty('attempts');
});

it('are not kept with `keepErrors: false`, and take less than a kilobyte', async () => {
  const [kept, not] = [await failedTwice('kept'), await failedTwice('not-kept', { keepErrors: false })];
  expect(await not.inspector.explain(not.receipt)).not.toHaveProperty('attempts');
  const record = (tube: string, id: string) => bytesOf(`{${tube}}:${id}`);
  const more = (await record('kept', kept.receipt.id)) - (await record('not-kept', not.receipt.id));
  expect(more).toBeGreaterThan(0);
  expect(more).toBeLessThan(1_024);
});
