import { none, noneBut, type Experiment } from '../experiment.js';
import type { LoggedProcess } from '../logged-process.js';
import { runsDuring } from '../measures.js';

/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Milliseconds. The copies of a job surface together, and those that meet its adoption go a little after it. */
const COPIES_GO = 1_000;
/** The same, beside the lease, where the retry ran from a backup: the primary, which met that run, waits for as long as a lease. */
const RETRY_COPIES_GO = 5_000;
/** One of so many jobs fails at first, and another one may be revoked. */
const TENTH = 10;

/**
 * The jobs are stored as go-queue stores them, and handlers of nest-dq run them: each is adopted first. One after the other, a node
 * is away, and jobs are revoked meanwhile; two consumers are killed; Redis is away; Redis loses everything. Delays
 * in whole seconds, rounded up, make each job up to a second late, so no recovery is measured.
 */
export const goQueue: Experiment = {
  number: 24,
  name: 'go-queue',
  what: "jobs stored as go-queue's dq stores them: a node away during revokes, consumers killed, Redis away, FLUSHALL",
  passes:
    'extra runs only of jobs in flight in a killed process, or in flight or not deleted yet at the FLUSHALL; all revokes are answered `revoked`',
  jobs: 20_000,
  smallJobs: 600,
  async run(lab) {
    lab.wire = 'go-queue';
    const producer = await lab.begin(3);
    const node = lab.beanstalkds[0]!;
    const times = lab.timetable(lab.jobs, lab.pick(24_000, 60_000));
    const dead = new Map<string, number>();
    const kill = async (victim: LoggedProcess) => {
      dead.set(victim.name, Date.now());
      await victim.end('SIGKILL');
      await lab.startConsumer();
    };

    const added = await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: i % TENTH === 0 ? [{ end: 'fail' }, {}] : [{ ms: (i % 5) * 20 }],
    }));
    await lab.until(times.at(0.02));
    await node.kill();
    const toRevoke = added.filter((_, i) => i % TENTH === 5 && i >= lab.jobs * 0.5 && i < lab.jobs * 0.7);
    const revocations = await producer.revokeMany(toRevoke.map(({ job }) => job));
    await lab.until(times.at(0.14));
    await node.restart();
    for (const [victim, part] of [0.18, 0.26].entries()) {
      await lab.until(times.at(part));
      await kill(lab.consumers[victim]!);
    }
    await lab.until(times.at(0.32));
    await lab.redis.kill();
    await lab.until(times.at(0.45));
    await lab.redis.restart();
    // Copies that met the outage go within a lease.
    await lab.until(times.at(0.9));
    const from = Date.now() - COPIES_GO;
    await lab.withRedis((redis) => redis.flushall());
    const flushed = Date.now();

    const found = await lab.settle();
    // Also runs that were granted before it, and began a little later.
    const allowed = new Set(runsDuring(lab.history, from, flushed + JUST_ENDED).map(({ job }) => job));
    for (const { process, job, attempt, at, end } of lab.history.allRuns()) {
      if (attempt > 1 && at < flushed && at > flushed - lab.lease - RETRY_COPIES_GO) allowed.add(job);
      const diedAt = dead.get(process);
      if (diedAt !== undefined && (!end || end.at > diedAt - JUST_ENDED)) allowed.add(job);
    }
    return {
      found,
      checks: [
        noneBut('duplicates of jobs that were not in flight', found.duplicates, allowed),
        none(
          'revokes that were not answered `revoked`',
          revocations.filter(({ answer }) => answer !== 'revoked'),
        ),
      ],
    };
  },
};
