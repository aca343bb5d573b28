import { hostname } from 'node:os';
import { afterEach, expect, it } from '@jest/globals';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DqModule, DqProducer, Recurring, type DelayedJob } from 'nest-dq';
import { DqInspector } from 'nest-dq/operate';
import { eventually } from 'test-servers';
import { clusterSuite, closedAfterEach } from '../support/suite.js';
import { optionsOf } from '../support/system.js';

const PROCESSES = 10;

const suite = clusterSuite();
/** When each was due, in milliseconds since 1970. */
const ticks: number[] = [];
const apps = closedAfterEach<INestApplicationContext>();

afterEach(() => {
  ticks.length = 0;
});

/** An application as its processes have it. */
async function start(tube: string, cron: string): Promise<INestApplicationContext> {
  @Injectable()
  class Ticking {
    @Recurring(tube, cron)
    tick(_payload: undefined, job: DelayedJob): void {
      ticks.push(job.dueAt.getTime());
    }
  }
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const dq = DqModule.forRoot({ ...optionsOf(suite.servers), logger: quiet });
  const module = class Shop {};
  const app = await NestFactory.createApplicationContext(
    { module, imports: [dq], providers: [Ticking] },
    { logger: false, abortOnError: false },
  );
  apps.push(app);
  return app;
}

const startAll = (cron: string) => Promise.all(Array.from({ length: PROCESSES }, () => start('tick', cron)));

it('runs each occurrence once in ten applications, through restarts of all of them', async () => {
  await startAll('* * * * * *');
  await eventually('five ticks', () => ticks.length >= 5);
  await Promise.all(apps.splice(0).map((app) => app.close()));
  const before = ticks.length;
  await startAll('* * * * * *');
  await eventually('three more', () => ticks.length >= before + 3);
  // Also of what was granted to one that ended, and so given back.
  const seconds = ticks.map((dueAt) => dueAt / 1_000);
  expect(seconds.filter((second) => !Number.isInteger(second))).toEqual([]);
  expect(seconds).toEqual([...new Set(seconds)].sort((a, b) => a - b));
}, 120_000);

it('continues in another process by another plan', async () => {
  const tube = 'tock'; // the job that the other test left may be overdue, and then still runs by its own plan
  const old = await start(tube, '0 0 1 1 *');
  const job = () => old.get(DqProducer).find({ tube, key: 'recurring' });
  const waiting = (await job())!;
  expect(waiting.dueAt.toISOString()).toMatch(/-01-01T00:00:00.000Z$/);
  await start(tube, '* * * * * *');
  expect((await job())!.id).toBe(waiting.id);
  await eventually('a tick', () => ticks.length > 0);
  expect(ticks[0]!).toBeLessThan(waiting.dueAt.getTime());
}, 60_000);

it('is listed by every process, with its next five times, and says where plans differ', async () => {
  const tube = 'tack';
  await start(tube, '0 0 1 1 *');
  const other = (await start('another', '30 12 * * *')).get(DqInspector);
  const listed = async () => (await other.series()).find((each) => each.tube === tube);
  await eventually('the other has announced it', async () => (await listed()) !== undefined);
  const { next, later, ...view } = (await listed())!;
  expect(view).toEqual({ tube, key: 'recurring', plan: '0 0 1 1 * UTC', processes: 1, state: 'waiting' });
  const year = next!.getUTCFullYear();
  expect([next!, ...later].map((at) => at.toISOString())).toEqual(
    [0, 1, 2, 3, 4].map((n) => `${year + n}-01-01T00:00:00.000Z`),
  );
  await start(tube, '0 0 2 1 *');
  await eventually('two plans', async () => (await listed())?.unequal === true);
  expect(await listed()).toMatchObject({ processes: 2 });
}, 60_000);

it('remembers in every process how it ran last, also after all of its processes have ended', async () => {
  const tube = 'tuck';
  const app = await start(tube, '* * * * * *');
  const other = (await start('another', '30 12 * * *')).get(DqInspector);
  const listed = async () => (await other.series()).find((each) => each.tube === tube);
  await eventually('it ran', async () => (await listed())?.last !== undefined);
  const last = { outcome: 'completed', attempt: 1, process: `${hostname()}:${process.pid}` };
  expect(await listed()).toMatchObject({ last });
  await app.close();
  await eventually('it has no process', async () => (await listed())?.processes === 0);
  expect(await listed()).toMatchObject({ plan: '* * * * * * UTC', state: 'waiting', last });
}, 60_000);
