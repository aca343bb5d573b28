import { compareWays } from '../compare-ways.js';
import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { memoryOf } from '../memory.js';
import { addResidents } from '../residents.js';
import { scheduleRound } from '../schedule-round.js';
import { connectNestDq, nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

const withoutIndex: Product = {
  ...nestDq,
  connect: ({ beanstalks, redis }) => connectNestDq({ beanstalks: [...beanstalks], redis, index: false }),
};

export const indexOfJobs: Measure = {
  name: 'index',
  title:
    'nest-dq with its index of waiting jobs and without it; and what a waiting job with 3 copies takes of Redis',
  run: async ({ rounds, pick }) => {
    const ways = { rounds, ours: nestDq, beside: withoutIndex, besideName: 'without', least: 0.93 };
    const waiting = pick(100_000, 10_000);
    const bytes = await withSystem(nestDq, async ({ client, servers }) => {
      const before = await memoryOf(servers);
      await addResidents(client, waiting);
      await client.close(); // what is written behind is written now
      return ((await memoryOf(servers)).redis - before.redis) / waiting;
    });
    return [
      await compareWays(ways, 'schedule, 3 copies', pick(30_000, 5_000), scheduleRound),
      await compareWays(ways, 'drain, 3 copies', pick(20_000, 4_000), drainRound),
      row({
        what: `Redis, ${waiting.toLocaleString('en-US')} waiting`,
        unit: 'bytes/job',
        ours: [bytes],
        target: { of: 'ours', most: 260 },
      }),
    ];
  },
};
