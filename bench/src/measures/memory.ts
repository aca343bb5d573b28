import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { memoryOf, type Memory } from '../memory.js';
import { addResidents } from '../residents.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

export const memory: Measure = {
  name: 'memory',
  title: 'bytes a job of 200 bytes, waiting with 3 copies, and finished (of BullMQ with removeOnComplete)',
  run: async ({ pick }) => {
    const some = pick(100_000, 10_000);
    const many = pick(1_000_000, 50_000);
    const jobs = (count: number) => count.toLocaleString('en-US');
    const ours = await withSystem(nestDq, async (system) => {
      const begin = await memoryOf(system.servers);
      await addResidents(system.client, some);
      const atSome = perJob(begin, await memoryOf(system.servers), some);
      await addResidents(system.client, many - some);
      return { atSome, atMany: perJob(begin, await memoryOf(system.servers), many) };
    });
    const peer = await withSystem(bullMq, async (system) => {
      const begin = await memoryOf(system.servers);
      await addResidents(system.client, some);
      return perJob(begin, await memoryOf(system.servers), some);
    });
    const finished = pick(20_000, 4_000);
    const rows: Row[] = [
      row({
        what: `Redis, ${jobs(some)} waiting`,
        unit: 'bytes/job',
        ours: [ours.atSome.redis],
        beside: [peer.redis],
      }),
      row({ what: `Redis, ${jobs(many)} waiting`, unit: 'bytes/job', ours: [ours.atMany.redis] }),
      row({
        what: `keys in Redis, ${jobs(many)} waiting`,
        unit: 'a job',
        ours: [ours.atMany.keys],
        beside: [peer.keys],
        // The keys of the index.
        target: { of: 'ours', most: 0.001 },
      }),
      row({ what: `beanstalkds, ${jobs(some)} waiting`, unit: 'bytes/job', ours: [ours.atSome.beanstalkds] }),
      row({ what: `beanstalkds, ${jobs(many)} waiting`, unit: 'bytes/job', ours: [ours.atMany.beanstalkds] }),
      row({
        what: 'Redis, finished, until its record expires',
        unit: 'bytes/job',
        ours: [await finishedBytes(nestDq, finished)],
        beside: [await finishedBytes(bullMq, finished)],
      }),
    ];
    return rows;
  },
};

function finishedBytes(product: Product, jobs: number): Promise<number> {
  return withSystem(product, async (system) => {
    const begin = await memoryOf(system.servers);
    await drainRound(system, jobs);
    return perJob(begin, await memoryOf(system.servers), jobs).redis;
  });
}

function perJob(before: Memory, after: Memory, jobs: number): Memory {
  return {
    redis: (after.redis - before.redis) / jobs,
    keys: (after.keys - before.keys) / jobs,
    beanstalkds: (after.beanstalkds - before.beanstalkds) / jobs,
  };
}
