import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { eventually, startKafka } from 'test-servers';
import { createTopic } from 'test-servers/kafka-topic';
import { Example } from '../test/example.js';

jest.setTimeout(240_000);

let example: Example;
afterEach(() => example.remove());

async function push(customer: string, text: string): Promise<void> {
  expect((await example.request('POST', '/events', { customer, text })).status).toBe(201);
}

async function turn(customer: string, state: 'up' | 'down'): Promise<void> {
  expect((await example.request('POST', `/customers/${customer}/${state}`)).status).toBe(204);
}

/** Each as its text and its attempt, once there are `count`. */
async function received(count: number): Promise<[text: string, attempt: number][]> {
  let events: { text: string; attempt: number }[] = [];
  await eventually(
    `${count} events are received`,
    async () => {
      ({ body: events } = await example.request('GET', '/received'));
      return events.length >= count;
    },
    60_000,
  );
  return events.map(({ text, attempt }) => [text, attempt]);
}

const failedOnce = (count: number) =>
  eventually(`${count} messages have failed, and wait as jobs`, () => {
    const lines = example.output.filter((line) => line.includes('failed in attempt 1 and was moved to'));
    return lines.length === count;
  });

describe('stream-retries', () => {
  it('delivers what failed later, and holds up nothing meanwhile', async () => {
    example = await Example.byCommand('stream-retries', { RETRY_AFTER: '1s' });
    await turn('globex', 'down');
    await push('globex', 'first');
    await push('globex', 'second');
    await push('acme', 'third');
    expect(await received(1)).toEqual([['third', 1]]);
    await failedOnce(2); // so the second one did not wait for the first one
    await turn('globex', 'up');
    const late = (await received(3)).slice(1);
    expect(late.map(([text]) => text).toSorted()).toEqual(['first', 'second']);
    for (const [, attempt] of late) expect(attempt).toBeGreaterThan(1);
    expect(await example.end()).toBe(0);
  });

  it('delivers what failed before it was killed', async () => {
    const broker = await startKafka();
    try {
      await createTopic([broker.endpoint], { topic: 'events', numPartitions: 1 });
      const env = { RETRY_AFTER: '3s', KAFKA_BROKERS: broker.endpoint };
      example = await Example.alone('stream-retries', env);
      await turn('globex', 'down');
      await push('globex', 'first');
      await failedOnce(1);
      await example.end('SIGKILL');
      await example.start(); // its customers are up then
      const [[text] = []] = await received(1);
      expect(text).toBe('first');
      await example.end();
    } finally {
      await broker.stop();
    }
  });
});
