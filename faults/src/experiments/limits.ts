import type { LoggedProcess } from '../logged-process.js';
import { atLeast, atMost, noneBut, type Experiment } from '../experiment.js';
import { mostAtOnce, mostTooSoon } from '../measures.js';

/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Microseconds by which the ledger grants a run before it may begin. */
const AHEAD = 20_000;

/**
 * A backlog of a tube with all limits. In its first half the handlers are quick, so that the rate holds the jobs back, and in its second
 * half they are slow, so that the concurrency does. Meanwhile consumers are killed and replaced, and Redis is killed and restarted with
 * its append-only file. Of a killed process no handler runs any more, but the ledger counts its runs until their leases end.
 */
export const limits: Experiment = {
  number: 23,
  name: 'limits',
  what: 'rate, concurrency and groups limited, consumers killed (SIGKILL), Redis killed and restarted with its AOF',
  passes: 'no limit exceeded at any moment; duplicates only of jobs in flight in a killed process',
  jobs: 6_000,
  smallJobs: 240,
  async run(lab) {
    const [rate, concurrency, groups] = [lab.pick(50, 200), lab.pick(5, 20), lab.pick(8, 30)];
    const outage = lab.pick(2_000, 10_000);
    const [quick, slow] = [5, 200];
    lab.limit = { rate, concurrency, perGroup: 1 };
    const producer = await lab.begin(3);
    const times = lab.timetable(lab.jobs, 1_000);
    const diedAt = new Map<string, number>();
    /** Kills the process that began a run last. */
    const replace = async () => {
      let victim: LoggedProcess | undefined;
      await lab.eventually('a handler runs', () => {
        const last = [...lab.history.allRuns()].findLast(({ end, process }) => !end && !diedAt.has(process));
        victim = lab.consumers.find(({ name }) => name === last?.process);
        return victim !== undefined;
      });
      if (!victim) throw new Error('no consumer is running a handler');
      await victim.end('SIGKILL');
      diedAt.set(victim.name, Date.now());
      await lab.startConsumer();
    };
    const group = (job: number) => job % groups;

    await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: i < lab.jobs / 2 ? quick : slow }],
      options: { group: `user-${group(i)}` },
    }));
    await lab.until(times.begin + 1_000);
    await lab.redis.kill();
    await lab.until(Date.now() + outage);
    await lab.redis.restart();
    await lab.eventually('the slow half runs', () => lab.open() < lab.jobs / 2);
    for (let kill = 0; kill < lab.pick(3, 6); kill++) await replace();

    const found = await lab.settle();
    const { history } = lab;
    const inFlight = [...history.allRuns()].filter(
      ({ process, end }) => diedAt.has(process) && (!end || end.at > diedAt.get(process)! - JUST_ENDED),
    );
    const atOnce = mostAtOnce(history, diedAt, () => 'all');
    const tooSoon = mostTooSoon(history, Math.ceil(1_000_000 / rate));
    return {
      found,
      checks: [
        atMost('concurrent runs', atOnce, concurrency),
        atLeast('concurrent runs', atOnce, Math.ceil(concurrency / 2)), // fewer would mean that this shows nothing
        atMost(
          'concurrent runs of a group',
          mostAtOnce(history, diedAt, ({ job }) => group(job)),
          1,
        ),
        atMost('µs by which a run was granted too early', tooSoon, AHEAD),
        atLeast('runs cut short by a kill', inFlight.filter(({ end }) => !end).length, 1),
        noneBut(
          'duplicates of jobs that were not in flight',
          found.duplicates,
          new Set(inFlight.map(({ job }) => job)),
        ),
      ],
      notes: [
        `${atOnce} runs at once, ${concurrency} allowed; granted ${Math.ceil(tooSoon / 1_000)} ms early at most`,
      ],
    };
  },
};
