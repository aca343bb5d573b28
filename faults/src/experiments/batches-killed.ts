import { atLeast, none, noneBut, type Experiment } from '../experiment.js';
import { extraStarts, recoveryTime } from '../measures.js';

const CONSUMERS = 3;
const SIZE = 20;
/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Milliseconds each job takes, so that those of a batch end together. */
const TAKES = 300;

/**
 * The handler gets up to 20 jobs at once. Consumers are killed one after the other and replaced, and a node is killed and back.
 * A tenth of the jobs fails first, within batches of which the others succeed, and some are revoked when they are due, when most
 * of them wait for their batch.
 * Recovery: from the return of the node until no job is overdue.
 */
export const batchesKilled: Experiment = {
  number: 37,
  name: 'batches-killed',
  what: 'consumers and a node killed in the middle of batches of 20 jobs',
  passes: 'extra starts only of jobs in flight in a killed process; what failed alone is retried alone',
  jobs: 10_000,
  smallJobs: 600,
  async run(lab) {
    lab.batch = { size: SIZE, wait: '200ms' };
    const kills = lab.pick(3, 12);
    const every = lab.pick(1_500, 2_000);
    const producer = await lab.begin(CONSUMERS, { handlers: { concurrency: 5 } });
    const times = lab.timetable(lab.jobs, (kills + 1) * every);
    const dead = new Map<string, number>();
    const fails = (i: number) => i % 10 === 3;
    const isRevoked = (i: number) => i % 50 === 7;

    const added = await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: fails(i) ? [{ ms: TAKES, end: 'fail' }, { ms: TAKES }] : [{ ms: TAKES }],
    }));
    const toRevoke = added.filter((_, i) => isRevoked(i));
    const revokes = Promise.all(
      toRevoke.map(async ({ job, due }) => {
        await lab.until(due + 50);
        return producer.revoke(job);
      }),
    );
    const [node] = lab.beanstalkds;
    let back = 0;
    for (let kill = 1; kill <= kills; kill++) {
      await lab.until(times.begin + kill * every);
      const victim = lab.consumers[kill - 1]!;
      dead.set(victim.name, Date.now());
      await victim.end('SIGKILL');
      await lab.startConsumer({ handlers: { concurrency: 5 } });
      if (kill === 1) await node!.kill();
      if (kill !== 2) continue;
      await node!.restart();
      back = Date.now();
    }
    const answers = await revokes;

    const found = await lab.settle();
    const all = [...lab.history.allRuns()];
    const inFlight = all.filter(
      ({ process, end }) => dead.has(process) && (!end || end.at > dead.get(process)! - JUST_ENDED),
    );
    const allowed = new Set(inFlight.map(({ job }) => job));
    const failing = new Set(added.filter((_, i) => fails(i)).map(({ job }) => job));
    const again = extraStarts(lab.history).filter(({ job }) => !failing.has(job));
    return {
      found,
      recovery: recoveryTime(lab.history, back),
      checks: [
        noneBut('duplicates of jobs that were not in flight', found.duplicates, allowed),
        noneBut('extra starts of jobs that neither failed nor were in flight', again, allowed),
        none('dead letters', await producer.deadLetters()),
        atLeast(
          'jobs revoked while they waited',
          answers.filter(({ answer }) => answer === 'revoked').length,
          1,
        ),
        atLeast('runs cut short by a kill', inFlight.filter(({ end }) => !end).length, 1),
        atLeast('jobs in the largest batch', largestBatch(all), SIZE / 2),
      ],
      notes: [`batches of up to ${largestBatch(all)} jobs`],
    };
  },
};

/** Milliseconds between the starts of two jobs of a batch, at most. */
const TOGETHER = 5;

function largestBatch(runs: readonly { readonly process: string; readonly at: number }[]): number {
  let largest = 0;
  const last = new Map<string, { at: number; count: number }>();
  for (const { process, at } of runs.toSorted((a, b) => a.at - b.at)) {
    const before = last.get(process);
    const count = before && at - before.at <= TOGETHER && before.count < SIZE ? before.count + 1 : 1;
    last.set(process, { at, count });
    largest = Math.max(largest, count);
  }
  return largest;
}
