import { allStored, atLeast, none, noneBut, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

const CONSUMERS = 3;
/** Milliseconds. A handler is called this long after the check of its expiry at most, on a busy machine. */
const STARTING = 250;
/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;

/**
 * All jobs are due at once in a tube with a rate, so that they wait in a backlog. Half of them expire when about half of the
 * backlog has run; a tenth fails first. Meanwhile two consumers and a node are killed and replaced, and Redis is killed before
 * the jobs expire, and back with its append-only file after that.
 * Recovery: from the return of Redis until no job is overdue.
 */
export const expiringBacklog: Experiment = {
  number: 33,
  name: 'expiring-backlog',
  what: 'consumers, a node and Redis killed while half of the jobs expire in a backlog',
  passes:
    'no run starts after its expiry; each job that did not run in time is `expired`; duplicates only of jobs in flight',
  jobs: 6_000,
  smallJobs: 240,
  async run(lab) {
    const rate = lab.pick(40, 300);
    lab.limit = { rate };
    const producer = await lab.begin(CONSUMERS);
    const due = Date.now() + lab.pick(2_000, 10_000);
    const half = (lab.jobs / rate) * 600; // the faults take some time as well
    const expires = due + half;
    const isExpiring = (i: number) => i % 2 === 1;

    const added = await producer.addMany(lab.jobs, (i) => ({
      due,
      doomed: isExpiring(i), // nobody waits for it to run
      acts: i % 10 === 1 ? [{ end: 'fail' }, {}] : [],
      ...(isExpiring(i) && {
        options: i % 4 === 1 ? { expireAfter: half } : { expireAt: new Date(expires) },
      }),
    }));
    const expiring = added.filter(({ doomed }) => doomed).map(({ job }) => job);
    const dead = new Map<string, number>();
    await lab.until(due + 0.2 * half);
    for (const consumer of lab.consumers.slice(1, CONSUMERS)) {
      dead.set(consumer.name, Date.now());
      await consumer.end('SIGKILL');
      await lab.startConsumer();
    }
    const [node] = lab.beanstalkds;
    await lab.until(due + 0.5 * half);
    await node!.kill();
    await lab.until(expires - lab.pick(500, 3_000));
    await lab.redis.kill();
    await lab.until(expires + lab.pick(500, 3_000));
    await lab.redis.restart();
    const back = Date.now();
    await node!.restart();

    const found = await lab.settle();
    const states = await producer.statesOf(expiring);
    const inFlight = new Set(
      [...lab.history.allRuns()]
        .filter(({ process, end }) => !end || end.at > (dead.get(process) ?? Infinity) - JUST_ENDED)
        .map(({ job }) => job),
    );
    const isDone = (job: number) => lab.history.runsOf(job).some(({ end }) => end?.how === 'done');
    const expired = expiring.filter((_, i) => states[i] === 'expired');
    const unended = expiring.filter((job, i) => states[i] !== (isDone(job) ? 'done' : 'expired'));
    const ofExpiring = new Set(expiring);
    const late = [...lab.history.allRuns()].filter(
      ({ job, at }) => ofExpiring.has(job) && at > expires + STARTING,
    );
    return {
      found,
      recovery: recoveryTime(lab.history, back),
      checks: [
        allStored('adds that failed', added),
        none('runs that started after their expiry', late),
        none(
          'expiring jobs that neither ran nor expired',
          unended.filter((job) => !inFlight.has(job)),
        ),
        noneBut('duplicates of jobs that were not in flight', found.duplicates, inFlight),
        atLeast('expired jobs', expired.length, Math.floor(expiring.length / 8)),
        atLeast('jobs that ran in time', expiring.filter(isDone).length, Math.floor(expiring.length / 20)),
        none('dead letters', await producer.deadLetters()),
      ],
      notes: [`${expired.length} of ${expiring.length} jobs expired`],
    };
  },
};
