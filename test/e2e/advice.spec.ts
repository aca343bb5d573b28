// Warnings that an application logs at its start about servers that do not meet its needs.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqHealth, DqModule, type DqOptions } from 'nest-dq';
import { eventually, startBeanstalkd, type BeanstalkdServer } from 'test-servers';
import { closedAfterEach, clusterSuite } from '../support/suite.js';

const suite = clusterSuite();
const open = closedAfterEach<{ close(): Promise<unknown> }>();
let unlogged: BeanstalkdServer;

beforeAll(async () => {
  unlogged = await startBeanstalkd({ binlog: false });
}, 60_000);
afterAll(() => unlogged.stop());

/** An application that is closed after the test, and its warnings. */
async function start(options: DqOptions) {
  const warnings: string[] = [];
  const logger = {
    log: () => undefined,
    warn: (message: string) => void warnings.push(message),
    error: (message: string) => void warnings.push(message),
  };
  @Module({ imports: [DqModule.forRoot({ logger, ...options })] })
  class AppModule {}
  const app = await NestFactory.createApplicationContext(AppModule, { logger: false, abortOnError: false });
  open.push(app);
  return { app, warnings };
}

const endpoints = () => suite.servers.beanstalkds.map(({ endpoint }) => endpoint);
const redis = () => suite.servers.redis.url;

it('does not warn of servers that are set up well', async () => {
  const { app, warnings } = await start({ beanstalks: endpoints(), redis: redis() });
  expect((await app.get(DqHealth).check()).dq).toEqual({
    status: 'up',
    redis: 'up',
    nodes: Object.fromEntries(endpoints().map((endpoint) => [endpoint, 'up'])),
  });
  expect(warnings).toEqual([]);
}, 60_000);

it('a node without a binlog is warned of once, with what to do', async () => {
  const { warnings } = await start({ beanstalks: [...endpoints(), unlogged.endpoint], redis: redis() });
  expect(warnings).toEqual([
    expect.stringMatching(new RegExp(`^${unlogged.endpoint} has no binlog.*start it with \`-b DIR\``)),
  ]);
}, 60_000);

it('a cluster of one node is warned of, unless one copy is asked for', async () => {
  const beanstalks = endpoints().slice(0, 1);
  const { warnings } = await start({ beanstalks, redis: redis() });
  expect(warnings).toEqual([expect.stringContaining('`beanstalks` names one node')]);
  expect((await start({ beanstalks, redis: redis(), replicas: 1 })).warnings).toEqual([]);
}, 60_000);

it('swapped servers are named: a Redis in place of a node, and a beanstalkd in place of Redis', async () => {
  const [node] = suite.servers.beanstalkds;
  const beanstalks = [...endpoints().slice(1), `${suite.servers.redis.host}:${suite.servers.redis.port}`];
  const { app, warnings } = await start({ beanstalks, redis: `redis://${node!.endpoint}` });
  const health = async () => (await app.get(DqHealth).check()).dq;
  await eventually('both are known', async () => {
    const { nodes, redisDown } = await health();
    return nodes[beanstalks.at(-1)!]!.includes('Redis') && redisDown!.reason.includes('beanstalkd');
  });
  const { nodes, redisDown } = await health();
  expect(nodes[beanstalks.at(-1)!]).toMatch(/^BAD_REPLY: not a beanstalkd: it answers like a Redis: "-/);
  expect(redisDown).toEqual({
    reason: expect.stringMatching(/^not a Redis: its reply begins with "/),
  });
  expect(warnings.join('\n')).toContain('not a beanstalkd: it answers like a Redis');
  expect(warnings.join('\n')).toContain('Redis is down; no job starts until it answers: not a Redis');
}, 60_000);

it('health says why Redis is down, and since when', async () => {
  const proxy = await suite.redisProxy();
  const { app } = await start({ beanstalks: endpoints(), redis: `redis://${proxy.endpoint}` });
  const health = async () => (await app.get(DqHealth).check()).dq;
  await eventually('it is up', async () => (await health()).redis === 'up');
  const before = Date.now();
  proxy.cut();
  await eventually('it is down', async () => (await health()).redis === 'down');
  const { redisDown } = await health();
  expect(redisDown!.reason).not.toBe('');
  expect(redisDown!.since!.getTime()).toBeGreaterThanOrEqual(before - 1_000);
  expect(redisDown!.since!.getTime()).toBeLessThanOrEqual(Date.now());
}, 60_000);
