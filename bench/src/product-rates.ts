// The jobs a second of one product, with servers and a client of its own.
import { apart } from './apart.js';
import { drainRound } from './drain-round.js';
import { scheduleRound } from './schedule-round.js';
import type { ProductName } from './systems/products.js';
import { withSystem, type System } from './systems/system.js';

export const ACTS = ['schedule', 'drain'] as const;
type Act = (typeof ACTS)[number];
/** The jobs of each act. */
export type Sizes = Readonly<Record<Act, number>>;
/** The jobs a second of each act. */
export type Rates = Readonly<Record<Act, number>>;

/** Returns adds a second, one by one with 256 in flight. `replicas`: copies of a job. @default 3 */
export const scheduleRate = apart(
  import.meta.url,
  'scheduleRate',
  (product: ProductName, jobs: number, replicas?: number) =>
    withSystem(product, async (system) => (await scheduleRound(system, jobs)).jobsPerSecond, {
      ...(replicas !== undefined && { replicas }),
    }),
);

/** Both acts in one process, first the drain, as its jobs are over then. */
export async function bothRounds(system: System, sizes: Sizes) {
  const drain = await drainRound(system, sizes.drain);
  const schedule = await scheduleRound(system, sizes.schedule);
  return { schedule, drain };
}

export const bothRates = apart(import.meta.url, 'bothRates', (product: ProductName, sizes: Sizes) =>
  withSystem(product, async (system): Promise<Rates> => {
    const { schedule, drain } = await bothRounds(system, sizes);
    return { schedule: schedule.jobsPerSecond, drain: drain.jobsPerSecond };
  }),
);

/** Returns jobs run a second when all are due at one moment. */
export const drainRate = apart(import.meta.url, 'drainRate', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => (await drainRound(system, jobs)).jobsPerSecond),
);
