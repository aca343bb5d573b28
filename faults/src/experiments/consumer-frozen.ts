import { atLeast, none, noneBut, type Experiment } from '../experiment.js';
import type { Run } from '../history.js';
import type { Act } from '../task.js';

/** Milliseconds. Time passes while a process is frozen, so such a run ends soon after the process resumes. */
const FROZEN_WORK = 4_000;
/** Milliseconds. The second run of a job. */
const WORK = 1_500;
/** Milliseconds. Longer than the experiment: only its signal ends such a run. */
const ENDLESS = 600_000;

/** Acts of a job in its first run, which is frozen, and in the runs after it. */
const STALE_SUCCESS: readonly Act[] = [{ ms: FROZEN_WORK, deaf: true }, { ms: WORK, end: 'fail' }, {}];
const STALE_FAILURE: readonly Act[] = [{ ms: FROZEN_WORK, deaf: true, end: 'fail' }, { ms: WORK }, {}];
const SIGNALLED: readonly Act[] = [{ ms: ENDLESS }, { ms: WORK }, {}];
const KINDS = [STALE_SUCCESS, STALE_FAILURE, SIGNALLED];

/**
 * One process runs some jobs and is frozen. When its leases end, other processes run these jobs. Then the first process
 * resumes, and the ledger must refuse the outcomes of its runs. A third of its runs succeed, and the second runs fail: if the
 * success counted, no third run would follow. A third fail, and the second runs succeed: if the failure counted, a third run
 * would follow. The last third ends only if the signal aborts.
 */
export const consumerFrozen: Experiment = {
  number: 7,
  name: 'consumer-frozen',
  what: 'a consumer frozen (SIGSTOP) for longer than its lease, then resumed',
  passes:
    'every stale outcome is rejected; fences strictly increase; signals abort when the lease is lost; duplicates only of stale runs',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const slow = Math.min(99, lab.jobs);
    const producer = await lab.begin(0);
    const frozen = await lab.startConsumer({ handlers: { concurrency: slow } });
    const firstRuns = () => lab.history.runsIn(frozen.name).filter(({ attempt }) => attempt === 1);

    const together = Date.now() + 1_000;
    const added = await producer.addMany(slow, (i) => ({ due: together, acts: KINDS[i % KINDS.length]! }));
    await lab.eventually('it runs them', () => firstRuns().length === slow);
    frozen.freeze();
    await Promise.all([lab.startConsumer(), lab.startConsumer()]);
    const times = lab.timetable(lab.jobs - slow);
    await producer.addMany(lab.jobs - slow, (i) => ({ due: times.at(i / (lab.jobs - slow)) }));
    await lab.eventually('the others run them', () =>
      firstRuns().every(({ job, end }) => end || lab.history.runsOf(job).length > 1),
    );
    frozen.thaw();

    const found = await lab.settle();
    const overtaken = firstRuns().filter(({ job, end }) => {
      const next = lab.history.runsOf(job).find(({ attempt }) => attempt > 1);
      return next && !(end && end.at < next.at);
    });
    const stale = new Set(overtaken.map(({ job }) => job));
    const ofKind = (kind: readonly Act[]) => {
      const jobs = new Set(added.filter((_, i) => KINDS[i % KINDS.length] === kind).map(({ job }) => job));
      return overtaken.filter(({ job }) => jobs.has(job));
    };
    const following = ({ job, run }: Run) => lab.history.runsOf(job).filter((other) => other.run !== run);
    const wellEnded = ofKind(STALE_SUCCESS);
    const failed = ofKind(STALE_FAILURE);
    const signalled = ofKind(SIGNALLED);
    return {
      found,
      frozen: 1,
      checks: [
        noneBut('duplicates of jobs whose first run was not taken over', found.duplicates, stale),
        ...[wellEnded, failed, signalled].map((runs) =>
          atLeast('taken-over runs of each kind', runs.length, 1),
        ),
        none(
          'stale successes that counted',
          wellEnded.filter((run) => !following(run).some(({ end }) => end?.how === 'done')),
        ),
        none(
          'stale failures that counted',
          [...failed, ...signalled].filter((run) => following(run).length > 1),
        ),
        none(
          'handlers whose signal did not abort on the lost lease',
          signalled.filter(
            ({ aborted, end }) => aborted?.reason !== 'DQ_LEASE_LOST' || end?.how !== 'aborted',
          ),
        ),
      ],
    };
  },
};
