import { atLeast, atMost, none, type Experiment } from '../experiment.js';
import type { Lab } from '../lab.js';
import { extraStarts } from '../measures.js';
import { nodeCounter } from 'test-servers';

/** Seconds: the TTR that the library sets for each copy. It is not an option. */
const TTR = 60;
const BACKUPS = [1, 2];
const COPIES = 1 + BACKUPS.length;
/** Seconds: the longest time between two releases of a backup that waits for a long run. */
const LONGEST_PAUSE = 60;

/**
 * All handlers run at once, each for ten times the TTR of 60 s. Touches must hold the primaries, and renewed leases must
 * hold the jobs. Meanwhile the backups surface, and are released again and again.
 *
 * The small version has handlers of 7 s with leases of 3 s. It shows that leases are renewed and claims of backups are
 * answered with BUSY. It does not show the touches, because no TTR ends.
 */
export const longHandlers: Experiment = {
  number: 11,
  name: 'long-handlers',
  what: 'handlers of ten times the TTR (the small version: of two leases and a second)',
  passes: 'one run per job; no more releases than the rules for backups of a running job allow',
  jobs: 200,
  smallJobs: 60,
  async run(lab) {
    const ms = lab.pick(2 * lab.lease + 1_000, 10 * TTR * 1_000);
    const slots = Math.ceil(lab.jobs / 3) + 10;
    const producer = await lab.begin(4, { handlers: { concurrency: slots } });
    const times = lab.timetable(lab.jobs, 1_000);
    const before = await releases(lab);

    await producer.addMany(lab.jobs, (i) => ({ due: times.at(i / lab.jobs), acts: [{ ms }] }));
    await lab.eventually('all handlers ended', () => lab.open() === 0, ms + 60_000);

    const found = await lab.settle();
    const released = (await releases(lab)) - before;
    const surfaced = BACKUPS.reduce((sum, index) => sum + mostSurfacings(lab, index, ms / 1_000), 0);
    // One more for each job: a process may release the copy that its waiting lane got, so that another lane gets it. And one
    // more for each copy: a process without a free slot for it releases it for the others.
    const most = lab.jobs * (1 + surfaced + COPIES);
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        none('starts beyond the first', extraStarts(lab.history)),
        atMost('releases', released, most),
        atLeast('releases', released, 2 * lab.jobs), // fewer would mean that no backup surfaced, and then this check shows nothing
      ],
      notes: [`${released} releases; the rules allow ${most}`],
    };
  },
};

async function releases(lab: Lab): Promise<number> {
  const counts = await Promise.all(lab.beanstalkds.map((node) => nodeCounter(node, 'cmd-release')));
  return counts.reduce((sum, count) => sum + count);
}

/**
 * Returns how often a backup can surface at most during a run of `seconds`. It surfaces first after its stagger. Then the time
 * to the next one depends on the process that gets the copy. If that process runs the job, it is the lease plus the stagger.
 * Otherwise it is the longer one of two times: the rest of the lease plus the stagger, or the time that the run has taken so
 * far, up to a minute.
 */
function mostSurfacings({ lease, backupDelay }: Lab, index: number, seconds: number): number {
  const stagger = index * Math.ceil(backupDelay / 1_000);
  const own = Math.ceil(lease / 1_000) + stagger;
  const left = Math.ceil((2 * lease) / 3 / 1_000) + stagger; // the lease is renewed every third of its length
  let count = 0;
  for (let at = stagger; at < seconds; count++) {
    at += Math.min(own, Math.max(left, Math.min(LONGEST_PAUSE, at)));
  }
  return count;
}
