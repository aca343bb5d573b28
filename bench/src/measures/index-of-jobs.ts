import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Row } from '../measure.js';
import { memoryOf } from '../memory.js';
import { addResidents } from '../residents.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { connectNestDq, nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product, type System } from '../systems/system.js';

const withoutIndex: Product = {
  ...nestDq,
  connect: ({ beanstalks, redis }) => connectNestDq({ beanstalks: [...beanstalks], redis, index: false }),
};

type Round = (system: System, jobs: number) => Promise<{ readonly jobsPerSecond: number }>;

export const indexOfJobs: Measure = {
  name: 'index',
  title:
    'nest-dq with its index of waiting jobs and without it; and what a waiting job with 3 copies takes of Redis',
  run: async ({ rounds, pick }) => {
    const compare = async (what: string, jobs: number, round: Round): Promise<Row> => {
      const one = (product: Product) => () =>
        withSystem(product, async (system) => (await round(system, jobs)).jobsPerSecond);
      const { ours, beside } = await alternate(rounds(5), { ours: one(nestDq), beside: one(withoutIndex) });
      const target = { of: 'ratio', least: 0.93 } as const;
      return row({ what, unit: 'jobs/s', ours, beside, besideName: 'without', target });
    };
    const waiting = pick(100_000, 10_000);
    const bytes = await withSystem(nestDq, async ({ client, servers }) => {
      const before = await memoryOf(servers);
      await addResidents(client, waiting);
      await client.close(); // what is written behind is written now
      return ((await memoryOf(servers)).redis - before.redis) / waiting;
    });
    return [
      await compare('schedule, 3 copies', pick(30_000, 5_000), scheduleRound),
      await compare('drain, 3 copies', pick(20_000, 4_000), drainRound),
      row({
        what: `Redis, ${waiting.toLocaleString('en-US')} waiting`,
        unit: 'bytes/job',
        ours: [bytes],
        target: { of: 'ours', most: 260 },
      }),
    ];
  },
};
