import { atMost, noneBut, type Experiment } from '../experiment.js';
import { firstStartAfter, recoveryTime } from '../measures.js';

/** Maximum time from the return of Redis until jobs start again, in ms. */
const BEGINS_AGAIN = 5_000;
const LONG_RUNS = 40;

/**
 * Redis is away twice while jobs come due. First it is killed, and restarted with its append-only file. Later it is frozen:
 * connections stay open, and when it resumes it executes the commands that were sent meanwhile. Some handlers run during both
 * outages, and a few of them for as long as the outage and the lease together.
 * Recovery: from the return of Redis until no job is overdue; the longer of the two.
 */
export const redisAway: Experiment = {
  number: 4,
  name: 'redis-away',
  what: 'Redis down for 30 s across due times, with handlers running; killed, then frozen',
  passes: 'duplicates only of runs longer than their lease; jobs start again within 5 s of its return',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const outage = lab.pick(4_000, 30_000);
    const between = lab.pick(5_000, 15_000);
    const producer = await lab.begin(3);
    const times = lab.timetable(lab.jobs, 2 * outage + between + 2_000);
    const every = Math.ceil(lab.jobs / LONG_RUNS);
    const longRun = (i: number) => ({ ms: i % (4 * every) === 0 ? outage + lab.lease : lab.lease / 2 });

    await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: i % every === 0 ? [longRun(i)] : [],
    }));
    await lab.until(times.begin + 1_000);
    await lab.redis.kill();
    await lab.until(times.begin + 1_000 + outage);
    await lab.redis.restart();
    const restarted = Date.now();
    await lab.until(restarted + between);
    lab.redis.freeze();
    await lab.until(restarted + between + outage);
    lab.redis.thaw();
    const thawed = Date.now();

    const found = await lab.settle();
    const long = new Set<number>();
    for (const { job, at, end } of lab.history.allRuns()) if (end && end.at - at > lab.lease) long.add(job);
    return {
      found,
      recovery: Math.max(...[restarted, thawed].map((back) => recoveryTime(lab.history, back))),
      checks: [
        noneBut('duplicates of runs within their lease', found.duplicates, long),
        ...[restarted, thawed].map((back) =>
          atMost(
            'first start after the return of Redis',
            firstStartAfter(lab.history, back),
            BEGINS_AGAIN,
            ' ms',
          ),
        ),
      ],
    };
  },
};
