import { eventually } from 'test-servers';
import { apart } from '../apart.js';
import { alignClock } from '../clock.js';
import { copiesOn } from '../copies.js';
import { addBeforeDue, CONCURRENCY, dueAfterAdding } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { alternate } from '../rounds.js';
import { RunCount } from '../run-count.js';
import { withSystem } from '../systems/system.js';

/** Milliseconds. Longer than any copy lingers: a lease, and the delays of the backups. */
const LONGEST = 60_000;

export const lingering: Measure = {
  name: 'lingering',
  title:
    'jobs due at one moment, so many that their backups come due before the last one runs: from the last run until no copy is left on any node',
  run: async ({ rounds, pick }) => {
    const jobs = pick(60_000, 40_000);
    const { ours } = await alternate(rounds(3), { ours: () => lingeringOf(jobs) });
    const what = `${jobs.toLocaleString('en-US')} jobs`;
    return [row({ what, unit: 's', ours, target: { of: 'ours', most: 2 } })];
  },
};

/** In seconds. */
export const lingeringOf = apart(import.meta.url, 'lingeringOf', (jobs: number) =>
  withSystem('nest-dq', async (system) => {
    const { client, servers } = system;
    const before = await copiesOn(servers);
    const [queue, runs] = [system.newQueue(), new RunCount(jobs)];
    alignClock();
    await client.consume(queue, runs.add, CONCURRENCY);
    const due = dueAfterAdding(jobs, system);
    await addBeforeDue(system, queue, payloads(jobs, due));
    await runs.done;
    const from = performance.now();
    await eventually('no copy is left', async () => (await copiesOn(servers)) === before, LONGEST);
    return (performance.now() - from) / 1_000;
  }),
);
