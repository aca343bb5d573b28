import { atLeast, atMost, noneBut, type Experiment } from '../experiment.js';
import type { Lab } from '../lab.js';
import { nodeCounter, percentile, putRaw } from 'test-servers';
import { latenesses } from '../measures.js';
import { TASKS } from '../task.js';
import { atPace } from '../waiting.js';

/** Runs of a job that kills its process. */
const ATTEMPTS = 2;
/** Milliseconds. A smaller difference may come from a busy machine, and not from the poison. */
const NOISE = 100;
/** Milliseconds. The small version runs together with other tests, on any machine. */
const SMALL_NOISE = 1_000;
/** Milliseconds. If a run ended so shortly before its process died, its completion may not have reached the ledger. */
const JUST_ENDED = 500;

/**
 * Two equal windows of jobs. The second one has poison: bodies that the library did not write, put into the tube directly; an
 * envelope with a broken payload; and jobs that kill their process at each run. A killed process is replaced, as in
 * production. In the first window the same number of processes is stopped and replaced, because the start of a process makes
 * a small machine busy. The check compares the p95 and not the p99, because a few jobs in a hundred have to wait for the
 * lease of a killed process.
 */
export const poison: Experiment = {
  number: 10,
  name: 'poison',
  what: 'poison: no envelope, a broken header, a broken payload, jobs that kill their process',
  passes: `poison is dead after its attempts and stops running; duplicates only of jobs that ran next to a process-killing job; p95 lateness of other jobs at most twice that without poison, or ${NOISE} ms more`,
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(3);
    const bodies = lab.pick(3, 30);
    const killers = lab.pick(2, 5);
    const half = Math.ceil(lab.jobs / 2);

    const window = async () => {
      const times = lab.timetable(half, lab.pick(3_000, 20_000));
      const added = await producer.addMany(half, (i) => ({ due: times.at(i / half) }));
      return { times, jobs: added.map(({ job }) => job) };
    };
    const control = await window();
    for (let ended = 0; ended < killers * ATTEMPTS; ended++) {
      await lab.until(control.times.at(0.1 + (0.8 * ended) / (killers * ATTEMPTS)));
      await lab.consumers[ended]!.end('SIGTERM');
      await keepAlive(lab);
    }
    await lab.eventually('the jobs without poison ran', () => lab.open() === 0);
    const { times, jobs } = await window();
    const deadly = await producer.addMany(killers, (i) => ({
      due: times.at(0.1 + (0.5 * i) / killers),
      acts: [{ end: 'kill' }],
      doomed: true,
      options: { attempts: ATTEMPTS },
    }));
    const putBodies = async (i: number) => {
      const node = lab.beanstalkds[i % lab.beanstalkds.length]!;
      await putRaw(node, TASKS.name, `no envelope at all, number ${i}`);
      await putRaw(node, TASKS.name, `dq1 {"id":"broken-header-${i}","due":\n{}`);
      await putRaw(node, TASKS.name, brokenPayload(i));
    };
    await Promise.all([
      atPace(bodies, { from: times.begin, to: times.end, signal: lab.signal }, putBodies),
      lab.eventually('all poison is dead', async () => {
        await keepAlive(lab);
        return lab.open() === 0 && (await producer.deadLetters()).length >= killers + bodies;
      }),
    ]);

    const found = await lab.settle();
    const runs = deadly.map(({ job }) => lab.history.runsOf(job).length);
    const letters = await producer.deadLetters();
    const neighbours = new Set(deadly.flatMap((poisonous) => neighboursOf(lab, poisonous.job)));
    const buried = await Promise.all(lab.beanstalkds.map((node) => nodeCounter(node, 'current-jobs-buried')));
    const copies = deadly.reduce((sum, { copies: stored = 0 }) => sum + stored, 0);
    const [before, after] = [control.jobs, jobs].map((list) => latenesses(lab.history, list));
    const p95 = { before: percentile(before!, 0.95), after: percentile(after!, 0.95) };
    return {
      found,
      checks: [
        noneBut(
          'duplicates of jobs that did not run next to a process-killing job',
          found.duplicates,
          neighbours,
        ),
        // A run that was granted together with one that kills the process does not begin, and is an attempt all the same.
        atMost('runs of a process-killing job', Math.max(...runs), ATTEMPTS),
        atLeast(
          'processes killed by them',
          runs.reduce((sum, count) => sum + count),
          ATTEMPTS,
        ),
        exactly(
          'attempts of the dead letters of those jobs',
          letters.filter(({ why }) => why === 'attempts').map(({ attempt }) => attempt),
          killers,
          ATTEMPTS,
        ),
        // Their attempts are not checked: a job that was claimed together with one that kills the process is claimed again.
        exactly(
          'dead letters of broken payloads',
          [letters.filter(({ why }) => why === 'invalid').length],
          1,
          bodies,
        ),
        exactly('buried copies', [buried.reduce((sum, count) => sum + count)], 1, copies + 3 * bodies),
        atMost(
          "other jobs' p95 lateness",
          p95.after,
          Math.max(2 * p95.before, p95.before + lab.pick(SMALL_NOISE, NOISE)),
          ' ms',
        ),
      ],
      notes: [
        `p95 lateness ${p95.before} ms without poison, ${p95.after} ms for the other jobs with it; worst ` +
          `${Math.max(...before!)} and ${Math.max(...after!)} ms`,
      ],
    };
  },
};

/** The jobs that ran in a process when this job killed it, or whose runs had ended shortly before that. */
function neighboursOf(lab: Lab, killer: number): number[] {
  return lab.history
    .runsOf(killer)
    .flatMap(({ process, at }) =>
      lab.history.runsIn(process).filter(({ end }) => !end || end.at > at - JUST_ENDED),
    )
    .map(({ job }) => job);
}

/** Starts new consumers until three are alive. */
async function keepAlive(lab: Lab): Promise<void> {
  const missing = 3 - lab.consumers.filter(({ alive }) => alive).length;
  for (let i = 0; i < missing; i++) await lab.startConsumer();
}

/** A body as the library writes it, without the end of its payload. */
function brokenPayload(i: number): string {
  const header = { id: `broken-payload-${i}`, due: Date.now(), n: 1, i: 0 };
  return `dq1 ${JSON.stringify(header)}\n{"job":`;
}

function exactly(what: string, values: readonly number[], count: number, value: number): string {
  if (values.length === count && values.every((each) => each === value)) return '';
  return `${what}: ${values.join(', ') || 'none'}; expected ${count} times ${value}`;
}
