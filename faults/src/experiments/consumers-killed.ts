import type { LoggedProcess } from '../logged-process.js';
import { atLeast, atMost, noneBut, type Experiment } from '../experiment.js';
import type { Run } from '../history.js';
import { extraStarts } from '../measures.js';

/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;

/**
 * One consumer after the other is killed while its handlers run, and a new one replaces it. The jobs that it ran can run
 * again when their leases end.
 * Recovery: the longest takeover, from a kill to the next start of a job that ran in the killed process. It takes one lease,
 * and another one for each process that was granted the job after that and was killed before the run began.
 */
export const consumersKilled: Experiment = {
  number: 6,
  name: 'consumers-killed',
  what: 'a consumer killed (SIGKILL) every 2 s, 20 times',
  passes:
    'extra starts only of jobs in flight in a killed process; takeover within a second of the end of the last lease',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const kills = lab.pick(5, 20);
    const every = lab.pick(1_000, 2_000);
    const producer = await lab.begin(3);
    const times = lab.timetable(lab.jobs, (kills + 1) * every);
    const dead = new Map<LoggedProcess, number>();

    await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: (i % 10) * lab.pick(80, 20) }],
    }));
    for (let kill = 1; kill <= kills; kill++) {
      await lab.until(times.begin + kill * every);
      const victim = lab.consumers[kill - 1]!;
      dead.set(victim, Date.now());
      await victim.end('SIGKILL');
      await lab.startConsumer();
    }

    const found = await lab.settle();
    const diedAt = new Map([...dead].map(([{ name }, at]) => [name, at]));
    const inFlight = [...lab.history.allRuns()].filter(
      ({ process, end }) => diedAt.has(process) && (!end || end.at > diedAt.get(process)! - JUST_ENDED),
    );
    const extra = extraStarts(lab.history);
    const allowed = new Set(inFlight.map(({ job }) => job));
    const takeovers = inFlight.filter(({ end }) => !end).map(takeover);
    const afterLease = takeovers.map(({ took, grants }) => took - grants * lab.lease);
    return {
      found,
      recovery: Math.max(0, ...takeovers.map(({ took }) => took)),
      checks: [
        noneBut('duplicates of jobs that were not in flight', found.duplicates, allowed),
        noneBut('extra starts of jobs that were not in flight', extra, allowed),
        atMost('extra starts', extra.length, inFlight.length),
        atMost('longest takeover after the last lease', Math.max(0, ...afterLease), 1_000, ' ms'),
        atLeast('runs cut short by a kill', takeovers.length, 1),
      ],
    };

    /** `took`: milliseconds; Infinity if no process took the job over. `grants`: how many leases had to end before. */
    function takeover(run: Run): { readonly took: number; readonly grants: number } {
      const next = lab.history
        .runsOf(run.job)
        .find(({ at, process }) => at >= run.at && process !== run.process);
      if (!next) return { took: Infinity, grants: 1 };
      return { took: next.at - diedAt.get(run.process)!, grants: next.attempt - run.attempt };
    }
  },
};
