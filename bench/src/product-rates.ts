// The jobs a second of one product, with servers and a client of its own.
import { apart } from './apart.js';
import { drainRound } from './drain-round.js';
import { scheduleRound } from './schedule-round.js';
import type { ProductName } from './systems/products.js';
import { withSystem } from './systems/system.js';

/** The jobs of each act. */
export interface Sizes {
  readonly schedule: number;
  readonly drain: number;
}

/** Of adds one by one, 256 in flight. `replicas`: copies of a job. @default 3 */
export const scheduleRate = apart(
  import.meta.url,
  'scheduleRate',
  (product: ProductName, jobs: number, replicas?: number) =>
    withSystem(product, async (system) => (await scheduleRound(system, jobs)).jobsPerSecond, {
      ...(replicas !== undefined && { replicas }),
    }),
);

/** Of both acts in one process, first of the drain, as its jobs are over then. */
export const bothRates = apart(import.meta.url, 'bothRates', (product: ProductName, sizes: Sizes) =>
  withSystem(product, async (system) => {
    const { jobsPerSecond: drain } = await drainRound(system, sizes.drain);
    const { jobsPerSecond: schedule } = await scheduleRound(system, sizes.schedule);
    return { schedule, drain };
  }),
);

/** Of jobs that are due at one moment. */
export const drainRate = apart(import.meta.url, 'drainRate', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => (await drainRound(system, jobs)).jobsPerSecond),
);
