import { drainRound } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { alternate } from '../rounds.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

export const drain: Measure = {
  name: 'drain',
  title: 'jobs due at one moment, 3 copies, 256 handlers at once that only count, until the last one runs',
  run: async ({ rounds, pick }) => {
    const jobs = pick(20_000, 4_000);
    const rate = (product: Product) => () =>
      withSystem(product, async (system) => (await drainRound(system, jobs)).jobsPerSecond);
    const { ours, peer } = await alternate(rounds(5), { ours: rate(nestDq), peer: rate(bullMq) });
    const what = `${jobs.toLocaleString('en-US')} jobs`;
    return [row({ what, unit: 'jobs/s', ours, beside: peer, target: { of: 'ratio', least: 2.5 } })];
  },
};
