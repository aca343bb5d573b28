// The jobs a second of one product, with servers and a client of its own.
import { apart } from './apart.js';
import { drainRound } from './drain-round.js';
import { scheduleRound } from './schedule-round.js';
import type { ProductName } from './systems/products.js';
import { withSystem } from './systems/system.js';

export type ProductRate = (product: ProductName, jobs: number) => Promise<number>;

/** Of adds one by one, 256 in flight. `replicas`: copies of a job. @default 3 */
export const scheduleRate = apart(
  import.meta.url,
  'scheduleRate',
  (product: ProductName, jobs: number, replicas?: number) =>
    withSystem(product, async (system) => (await scheduleRound(system, jobs)).jobsPerSecond, {
      ...(replicas !== undefined && { replicas }),
    }),
);

/** Of jobs that are due at one moment. */
export const drainRate = apart(import.meta.url, 'drainRate', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => (await drainRound(system, jobs)).jobsPerSecond),
);
