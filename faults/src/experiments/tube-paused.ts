import { allStored, atLeast, none, noneBut, type Experiment } from '../experiment.js';
import { recoveryTime } from '../measures.js';

/** Milliseconds. The smallest value that the library accepts. */
const STALE_AFTER = 60_000;
/** Milliseconds. If a handler ended so shortly before its process died, the completion of its run may be missing. */
const JUST_ENDED = 500;
/** Milliseconds. A run that was granted may begin 20 ms after the answer to the pause; a busy machine needs longer for that. */
const GRANTED_BEFORE = 250;
const LONG = 2_000;
const CONSUMERS = 3;

/**
 * The tube is paused while its jobs come due, for longer than `staleAfter` in the full version. Meanwhile one consumer after the
 * other is killed, the first while handlers run that were begun before the pause, and a new one replaces it. Then the tube is
 * resumed.
 * Recovery: from the resume until no job is overdue.
 */
export const tubePaused: Experiment = {
  number: 20,
  name: 'tube-paused',
  what: 'the tube is paused under load while all consumers are killed (SIGKILL) and replaced',
  passes:
    'no run starts during the pause; no dead letter; duplicates only of jobs in flight in a killed process',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const options = { advanced: { staleAfter: STALE_AFTER } };
    const producer = await lab.begin(CONSUMERS, options);
    const times = lab.timetable();
    const pauseFor = lab.pick(6_000, STALE_AFTER + 15_000);
    const dead = new Map<string, number>();

    const added = await producer.addMany(lab.jobs, (i) => ({
      due: times.at(i / lab.jobs),
      acts: [{ ms: i % 10 === 0 ? LONG : 0 }],
    }));
    await lab.until(times.at(0.3));
    await producer.pause();
    const paused = Date.now();
    for (const consumer of lab.consumers.slice(0, CONSUMERS)) {
      dead.set(consumer.name, Date.now());
      await consumer.end('SIGKILL');
      await lab.startConsumer(options);
    }
    await lab.until(Math.max(times.end, paused) + pauseFor);
    const resumed = Date.now();
    await producer.resume();

    const found = await lab.settle();
    const runs = [...lab.history.allRuns()];
    const cut = runs.filter(
      ({ process, end }) => !end || end.at > (dead.get(process) ?? Infinity) - JUST_ENDED,
    );
    const letters = await producer.deadLetters();
    const begun = runs.filter(({ at }) => at > paused + GRANTED_BEFORE && at < resumed);
    return {
      found,
      recovery: recoveryTime(lab.history, resumed),
      checks: [
        allStored('adds that failed', added),
        none('runs started during the pause', begun),
        none('dead letters', letters),
        noneBut(
          'duplicates of jobs that were not in flight',
          found.duplicates,
          new Set(cut.map(({ job }) => job)),
        ),
        atLeast('runs cut short by a kill', runs.filter(({ end }) => !end).length, 1),
      ],
      notes: [
        `the last run before the resume started ${lastBefore(resumed) - paused} ms after the pause was acknowledged`,
      ],
    };

    function lastBefore(instant: number): number {
      let last = -Infinity;
      for (const { at } of lab.history.allRuns()) if (at < instant) last = Math.max(last, at);
      return last;
    }
  },
};
