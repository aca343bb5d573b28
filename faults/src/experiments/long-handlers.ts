import { atLeast, atMost, none, type Experiment } from '../experiment.js';
import type { Lab } from '../lab.js';
import { extraStarts } from '../measures.js';
import { nodeCounter } from 'test-servers';

/** Seconds: what the library gives a reserved copy on its node; not an option. */
const TTR = 60;
const BACKUPS = [1, 2];
const COPIES = 1 + BACKUPS.length;
/** Seconds between two releases of a backup that waits for a long run, at most. */
const LONGEST_PAUSE = 60;

/**
 * All handlers run at once, each for ten times the 60 s of a node's TTR. Touches must hold the primaries, and renewed leases
 * the jobs. The backups surface meanwhile, and are released again and again.
 *
 * The small version has handlers of 7 s with leases of 3 s. It shows that leases are renewed and claims of backups are
 * answered with BUSY. It does not show the touches, because no TTR ends.
 */
export const longHandlers: Experiment = {
  number: 11,
  name: 'long-handlers',
  what: 'handlers of ten times the TTR (the small version: of two leases and a second)',
  passes: 'one run each; releases as few as the rules for backups of a running job say',
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
    // One more a job: a copy that the waiting lane of a process brings may be passed on to another lane by a release. And one
    // more a copy: it may come to a process that has no slot for it, and lets it go to the others.
    const most = lab.jobs * (1 + surfaced + COPIES);
    return {
      found,
      checks: [
        none('duplicates', found.duplicates),
        none('starts beyond the first', extraStarts(lab.history)),
        atMost('releases', released, most),
        atLeast('releases', released, 2 * lab.jobs), // else no backup ever surfaced, and this shows nothing
      ],
      notes: [`${released} releases, ${most} at most by the rules`],
    };
  },
};

async function releases(lab: Lab): Promise<number> {
  const counts = await Promise.all(lab.beanstalkds.map((node) => nodeCounter(node, 'cmd-release')));
  return counts.reduce((sum, count) => sum + count);
}

/**
 * How often a backup of a run of so many seconds surfaces at most: first by its stagger; then, where the process that has
 * it runs the job itself, after the lease and the stagger; elsewhere after what is left of the lease and the stagger, or
 * for as long again as the run has taken so far, but a minute at most, whichever is longer.
 */
function mostSurfacings({ lease, backupDelay }: Lab, index: number, seconds: number): number {
  const stagger = index * Math.ceil(backupDelay / 1_000);
  const own = Math.ceil(lease / 1_000) + stagger;
  const left = Math.ceil((2 * lease) / 3 / 1_000) + stagger; // it is extended every third of it
  let count = 0;
  for (let at = stagger; at < seconds; count++) {
    at += Math.min(own, Math.max(left, Math.min(LONGEST_PAUSE, at)));
  }
  return count;
}
