import { apart } from '../apart.js';
import { alignClock, machineTime } from '../clock.js';
import { addBeforeDue, CONCURRENCY, dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { drainRate } from '../product-rates.js';
import { alternate } from '../rounds.js';
import { RunCount } from '../run-count.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';
import { pauseUntil } from '../waiting.js';

const QUEUE = 'backlog';
/** Milliseconds from the due time of a job until its last copy has surfaced, with the default `backupDelay`. */
const LAST_COPY = 5_000;
/** Milliseconds over which the jobs come due, and by which they are overdue then. */
const OVER = 5_000;
const OVERDUE = 5_000;

export const backlog: Measure = {
  name: 'backlog',
  title:
    'jobs that came due over 5 s while no consumer was there, and overdue by another 5 s, all three copies ready, from the start of the consumer to the last run; beside the same number due at one moment (clean), and BullMQ',
  run: async ({ rounds, pick }) => {
    const jobs = pick(30_000, 5_000);
    const { clean } = await alternate(rounds(3), { clean: () => drainRate('nest-dq', jobs) });
    const overdue = (product: ProductName) => () => overdueRate(product, jobs);
    const { ours, peer } = await alternate(rounds(1), {
      ours: overdue('nest-dq'),
      peer: overdue('BullMQ'),
    });
    const what = `${jobs.toLocaleString('en-US')} jobs`;
    return [
      row({
        what,
        unit: 'jobs/s',
        ours,
        beside: clean,
        besideName: 'clean',
        target: { of: 'ratio', least: 0.7 },
      }),
      row({ what, unit: 'jobs/s', ours, beside: peer }),
    ];
  },
};

/** Jobs a second. */
export const overdueRate = apart(import.meta.url, 'overdueRate', (product: ProductName, jobs: number) =>
  withSystem(product, async (system) => {
    alignClock();
    const begin = dueAfterAdding(jobs, system);
    await addBeforeDue(
      system,
      QUEUE,
      payloads(jobs, (n) => Math.ceil(begin + (OVER * n) / jobs)),
    );
    await pauseUntil(begin + OVER + LAST_COPY + OVERDUE);
    return drainOverdue(system, jobs);
  }),
);

/** Resolves with the jobs a second. */
async function drainOverdue({ client }: System, jobs: number): Promise<number> {
  const runs = new RunCount(jobs);
  const from = machineTime();
  await client.consume(QUEUE, runs.add, CONCURRENCY);
  await runs.done;
  return (1000 * jobs) / (runs.lastAt - from);
}
