import type { JobEnd } from 'nest-dq/operate';
import { atLeast, atMost, none, noneBut, type Experiment } from '../experiment.js';
import type { AwaitedEnd } from '../producer-side.js';

/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Waits longer than anything takes here. */
const LONG = 10 * 60_000;
/** Waits that end before the jobs are due. */
const SHORT = 1_500;
/** Max time from the timeout of a call to its rejection, in ms, on a machine that is busy with everything else. */
const REJECTED_WITHIN = 2_000;
/** Options of all processes. */
const KEPT = { keepDone: { max: 1_000_000 } };
/** One in this many jobs is discarded by its handler; as many are revoked, and awaited for a short time. */
const EVERY = 10;

/**
 * A process waits for the ends of jobs that others run. The processes of the handlers are killed one after the other, and in the
 * middle Redis is killed and restarted. Each call has to resolve once, with the truth: what the handlers wrote, and what the ledger
 * says at the end. Calls with a short timeout have to reject by it.
 */
export const endsAwaited: Experiment = {
  number: 36,
  name: 'ends-awaited',
  what: 'processes killed and Redis killed and restarted while another process waits for the ends of jobs',
  passes: 'each call resolves with the end that the job had, or rejects by its timeout',
  jobs: 8_000,
  smallJobs: 400,
  async run(lab) {
    const kills = lab.pick(3, 8);
    const every = lab.pick(1_200, 2_000);
    const outage = lab.pick(1_500, 5_000);
    const producer = await lab.begin(3, KEPT);
    const times = lab.timetable(Math.min(lab.jobs, 8_000), (kills + 1) * every + outage);
    const dead = new Map<string, number>();
    const added = await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: i % EVERY === 1 ? [{ end: 'discard' }] : [{ ms: (i % 7) * lab.pick(60, 20) }],
      doomed: i % EVERY === 1,
    }));
    const jobs = added.map(({ job }) => job);
    const revoked = jobs.filter((_, i) => i % EVERY === 2);
    // Only jobs that are due late, so that the short calls end before.
    const impatient = jobs.filter(
      (_, i) => i % EVERY === 3 && times.at(i / lab.jobs) > Date.now() + 2 * SHORT,
    );

    const ends: AwaitedEnd[] = [];
    const awaitEnds = (of: readonly number[], timeout: number, into: AwaitedEnd[]) =>
      Promise.all(of.map(async (job) => void into.push(await producer.endOf(job, timeout))));
    const waiting = awaitEnds(jobs, LONG, ends);
    const shorts: AwaitedEnd[] = [];
    const short = awaitEnds(impatient, SHORT, shorts);
    await short;
    const revocations = await producer.revokeMany(revoked);
    await lab.until(times.begin);
    for (let kill = 1; kill <= kills; kill++) {
      await lab.until(times.begin + kill * every);
      const isMiddle = kill === Math.ceil(kills / 2);
      if (isMiddle) await lab.redis.kill();
      const victim = lab.consumers[kill - 1]!;
      dead.set(victim.name, Date.now());
      await victim.end('SIGKILL');
      if (isMiddle) {
        await lab.until(Date.now() + outage);
        await lab.redis.restart();
      }
      await lab.startConsumer(KEPT);
    }
    const found = await lab.settle();
    await lab.eventually('each call has an answer', () => ends.length === jobs.length);
    await waiting;
    const again: AwaitedEnd[] = [];
    await awaitEnds(jobs, 60_000, again);
    const states = new Map((await producer.statesOf(jobs)).map((state, i) => [jobs[i]!, state]));

    const answers = new Map(revocations.map(({ job, answer }) => [job, answer]));
    const isRight = (job: number, { outcome }: JobEnd) => {
      const answer = answers.get(job);
      if (answer === 'revoked') return outcome === 'revoked';
      if (job % EVERY === 1) return outcome === 'dead';
      // A run may have begun before its revoke: if it succeeds, the job is done.
      return outcome === 'done' || (answer === 'running' && outcome === 'revoked');
    };
    const wrong = (list: readonly AwaitedEnd[]) =>
      list.filter(({ job, end }) => !end || !isRight(job, end) || end.outcome !== states.get(job));
    const early = ends.filter(({ job, at, end }) => {
      if (end?.outcome !== 'done') return false;
      return !lab.history.runsOf(job).some((run) => run.end?.how === 'done' && run.end.at <= at);
    });
    const bare = ends.filter(({ end }) => !end || (end.outcome !== 'revoked' && !end.endedAt));
    const inFlight = new Set(
      [...lab.history.allRuns()]
        .filter(({ process, end }) => !end || end.at > (dead.get(process) ?? Infinity) - JUST_ENDED)
        .map(({ job }) => job),
    );
    const delays = ends
      .flatMap(({ job, at, end }) => {
        if (end?.outcome !== 'done') return [];
        const last = lab.history.runsOf(job).findLast((run) => run.end?.how === 'done');
        return last?.end ? [at - last.end.at] : [];
      })
      .sort((a, b) => a - b);
    const late = shorts.map(({ askedAt, at }) => at - askedAt - SHORT);
    return {
      found,
      checks: [
        none('wrong ends', wrong(ends)),
        none('wrong ends, asked once more', wrong(again)),
        none('ends known before their handler had ended', early),
        none('ends of which nothing is kept', bare),
        none(
          'short calls that did not reject',
          shorts.filter(({ code }) => code !== 'DQ_NOT_FINISHED'),
        ),
        none(
          'short calls that rejected too early',
          late.filter((ms) => ms < -1),
        ),
        atMost('latest rejection after its timeout', Math.max(0, ...late), REJECTED_WITHIN, ' ms'),
        noneBut('duplicates of jobs that were not in flight', found.duplicates, inFlight),
        atLeast('short calls', shorts.length, 5),
        atLeast('revoked jobs', [...answers.values()].filter((answer) => answer === 'revoked').length, 5),
      ],
      notes: [
        `known after the end of the handler: p50 ${delays[Math.floor(delays.length / 2)]} ms, ` +
          `p99 ${delays[Math.floor(delays.length * 0.99)]} ms, worst ${delays.at(-1)} ms`,
      ],
    };
  },
};
