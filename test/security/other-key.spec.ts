// A key's name that comes back with other bytes, as after a restart with another secret.
import { randomBytes } from 'node:crypto';
import { beforeEach, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { DqModule } from 'nest-dq';
import type { BadSeal } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { isEmpty } from '../support/jobs.js';
import { clusterSuite } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const RIGHT = { keys: { k1: randomBytes(32) }, current: 'k1' };
const WRONG = { keys: { k1: randomBytes(32) }, current: 'k1' };
const REFUSED = {
  code: 'DQ_CONFIG',
  message: expect.stringMatching(/^DQ_CONFIG: the key "k1" of `seal\.keys`: .* a new name for a new key$/),
};

const suite = clusterSuite();
let tests = 0;
/** Another one for each test. */
let prefix: string;

beforeEach(() => void (prefix = `keys-${++tests}.`));

/** A process that has run with the right key, and stored a job with it. */
async function ranBefore(): Promise<void> {
  const before = suite.start({ seal: RIGHT, prefix });
  await before.producer.delay('t', 'sealed before', '1s', { patience: '10s' });
  await keysAreStored();
  await before.stop();
}

async function keysAreStored(): Promise<void> {
  const redis = new Redis(suite.servers.redis.url);
  await eventually(
    'the key is known',
    async () => (await redis.hexists(`{${prefix}:}::seal-keys`, 'k1')) === 1,
  );
  redis.disconnect();
}

it('fails the start, by the name of the key and without its bytes', async () => {
  await ranBefore();
  const log: string[] = [];
  const note = (message: string) => void log.push(message);
  const logger = { log: note, warn: note, error: note };
  @Module({
    imports: [DqModule.forRoot({ ...optionsOf(suite.servers), prefix, logger, seal: WRONG })],
  })
  class AppModule {}
  await expect(
    NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false }),
  ).rejects.toMatchObject(REFUSED);
  const bytes = [RIGHT, WRONG].flatMap(({ keys: { k1 } }) => [k1.toString('hex'), k1.toString('base64')]);
  for (const text of bytes) expect(log.join('\n')).not.toContain(text);
}, 60_000);

it('seals and buries nothing where Redis answers only after the start', async () => {
  await ranBefore();
  const proxy = await suite.redisProxy();
  proxy.cut();
  const wrong = suite.start({ seal: WRONG, prefix, redis: `redis://${proxy.endpoint}`, patience: 0 });
  const bad: BadSeal[] = [];
  wrong.events.on('badSeal').subscribe((each) => void bad.push(each));
  const runs: unknown[] = [];
  await wrong.consumer.consume('t', (payload) => void runs.push(payload));
  await eventually('all nodes are up', () => wrong.nodes.every(({ up }) => up));
  proxy.restore();
  await eventually(
    'the key is refused',
    async () => (await wrong.health.check()).dq.refusedKeys !== undefined,
  );
  expect((await wrong.health.check()).dq).toMatchObject({ status: 'down', redis: 'up', refusedKeys: ['k1'] });
  expect(wrong.log.filter((line) => line.includes('"k1"'))).toEqual([
    expect.stringMatching(/^refusing to seal or read with it: the key "k1"/),
  ]);
  await expect(wrong.producer.now('t', 'not stored')).rejects.toMatchObject(REFUSED);
  await eventually('the job of before is handed back', () => bad.length > 0);
  expect(bad.every(({ buried }) => !buried)).toBe(true);
  expect(runs).toEqual([]);
  await wrong.stop();
  const right = suite.start({ seal: RIGHT, prefix });
  await right.consumer.consume('t', (payload) => void runs.push(payload));
  await eventually('it ran', () => runs.length === 1, 60_000);
  await eventually('no copy is left', () => isEmpty(right, 't'));
  expect(runs).toEqual(['sealed before']);
}, 120_000);

it('is used once Redis has lost its data, and the fingerprint is stored again', async () => {
  await ranBefore();
  const redis = new Redis(suite.servers.redis.url);
  await redis.flushall();
  redis.disconnect();
  const other = suite.start({ seal: WRONG, prefix });
  await keysAreStored();
  await expect(other.producer.delay('t', 'sealed with the new one', '1h')).resolves.toBeDefined();
  expect((await other.health.check()).dq).not.toHaveProperty('refusedKeys');
}, 60_000);
