import { alignClock, machineTime } from '../clock.js';
import { addBeforeDue, CONCURRENCY, drainRound, dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { alternate } from '../rounds.js';
import { RunCount } from '../run-count.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';
import { pauseUntil } from '../waiting.js';

const QUEUE = 'backlog';
/** Milliseconds from the due time of a job until its last copy has surfaced, with the default `backupDelay`. */
const LAST_COPY = 5_000;

export const backlog: Measure = {
  name: 'backlog',
  title:
    'jobs that came due over 30 s while no consumer was there, and overdue by another 60 s, all three copies ready, from the start of the consumer to the last run; beside the same number due at one moment (clean), and BullMQ',
  run: async ({ rounds, pick }) => {
    const jobs = pick(30_000, 5_000);
    const over = pick(30_000, 5_000);
    const overdue = pick(60_000, 5_000);
    const { clean } = await alternate(rounds(3), {
      clean: () => withSystem(nestDq, async (system) => (await drainRound(system, jobs)).jobsPerSecond),
    });
    // The jobs of both systems wait at the same time. Then the systems drain one after the other.
    const [ours, peer] = await withSystem(nestDq, (own) =>
      withSystem(bullMq, async (other) => {
        alignClock();
        const begin = dueAfterAdding(jobs, own, other);
        const all = payloads(jobs, (n) => Math.ceil(begin + (over * n) / jobs));
        await addBeforeDue(own, QUEUE, all);
        await addBeforeDue(other, QUEUE, all);
        await pauseUntil(begin + over + LAST_COPY + overdue);
        return [await drainOverdue(own, jobs), await drainOverdue(other, jobs)] as const;
      }),
    );
    const what = `${jobs.toLocaleString('en-US')} jobs`;
    return [
      row({
        what,
        unit: 'jobs/s',
        ours: [ours],
        beside: clean,
        besideName: 'clean',
        target: { of: 'ratio', least: 0.7 },
      }),
      row({ what, unit: 'jobs/s', ours: [ours], beside: [peer] }),
    ];
  },
};

/** Resolves with the jobs a second. */
async function drainOverdue({ client }: System, jobs: number): Promise<number> {
  const runs = new RunCount(jobs);
  const from = machineTime();
  await client.consume(QUEUE, runs.add, CONCURRENCY);
  await runs.done;
  return (1000 * jobs) / (runs.lastAt - from);
}
