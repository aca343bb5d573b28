import { apart } from '../apart.js';
import { compareWays, type Ways } from '../compare-ways.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { memoryOf } from '../memory.js';
import { addResidents } from '../residents.js';
import { once } from '../rounds.js';
import { withSystem } from '../systems/system.js';

export const indexOfJobs: Measure = {
  name: 'index',
  title:
    'nest-dq with its index of waiting jobs and without it; and what a waiting job with 3 copies takes of Redis',
  run: async ({ rounds, pick }) => {
    const ways: Ways = {
      rounds,
      ours: 'nest-dq',
      beside: 'nest-dq, no index',
      besideName: 'without',
      least: 0.93,
    };
    const waiting = pick(100_000, 10_000);
    return [
      ...(await compareWays(ways, { schedule: pick(30_000, 5_000), drain: pick(20_000, 4_000) })),
      row({
        what: `Redis, ${waiting.toLocaleString('en-US')} waiting`,
        unit: 'bytes/job',
        ours: await once(() => bytesOfWaiting(waiting)),
        target: { of: 'ours', most: 260 },
      }),
    ];
  },
};

/** Returns the bytes that Redis needs for each waiting job, while `jobs` jobs wait. */
export const bytesOfWaiting = apart(import.meta.url, 'bytesOfWaiting', (jobs: number) =>
  withSystem('nest-dq', async ({ client, servers }) => {
    const before = await memoryOf(servers);
    await addResidents(client, jobs);
    await client.close(); // what is written behind is written now
    return ((await memoryOf(servers)).redis - before.redis) / jobs;
  }),
);
