import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { alternate } from '../rounds.js';
import { scheduleRound } from '../schedule-round.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

export const schedule: Measure = {
  name: 'schedule',
  title: 'adds of delayed jobs, 256 in flight, until the last is acknowledged, against queue.add with delay',
  run: async ({ rounds, pick }) => {
    const jobs = pick(100_000, 5_000);
    const rate = (product: Product, replicas?: number) => () =>
      withSystem(product, async (system) => (await scheduleRound(system, jobs)).jobsPerSecond, {
        replicas,
      });
    const { three, two, one, peer } = await alternate(rounds(5), {
      three: rate(nestDq, 3),
      two: rate(nestDq, 2),
      one: rate(nestDq, 1),
      peer: rate(bullMq),
    });
    const compared = (what: string, ours: number[], least: number) =>
      row({ what, unit: 'jobs/s', ours, beside: peer, target: { of: 'ratio', least } });
    return [compared('3 copies', three, 1.2), compared('2 copies', two, 2), compared('1 copy', one, 3.5)];
  },
};
