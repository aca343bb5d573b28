import { Proxy } from 'test-servers';
import { atLeast, none, type Experiment } from '../experiment.js';
import type { JobHistory } from '../history.js';
import type { Lab } from '../lab.js';
import type { Schedule } from '../log.js';
import type { ProducerSide } from '../producer-side.js';

/** Delay of a job that is due soon, in ms. */
const SOON = 6_000;
/** A claim adopts what was never committed after 10 s. So by then nothing but a rule of the ledger stops it. */
const LATE = 18_000;
const PATIENCE = 0;
/** A run that was granted before the fault may start so long after it, in a slow process. */
const GRANTED_BEFORE = 2_000;

/** How each of four jobs is replaced, or moved. */
const CHANGES: readonly { readonly from: number; readonly to: number; readonly moves: boolean }[] = [
  { from: SOON, to: LATE, moves: false },
  { from: SOON, to: LATE, moves: true },
  { from: LATE, to: SOON, moves: false },
  { from: LATE, to: SOON, moves: true },
];

/**
 * In each round a producer, in a process of its own, replaces and moves keyed jobs, all at once. Once it has heard that some
 * were, it is killed, or its connections to Redis are silent from then on. Which schedule counts is open where it heard
 * nothing, but each job runs as one of the two: as the old one or as the new one.
 */
export const replacedMidway: Experiment = {
  number: 31,
  name: 'replaced-midway',
  what: 'producers killed, and cut off from Redis, while replacing and moving jobs with a key',
  passes: 'each job runs by one of its two schedules, never by both',
  jobs: 20_000,
  smallJobs: 400,
  async run(lab) {
    const producer = await lab.begin(2);
    const perRound = Math.ceil(lab.jobs / lab.pick(4, 40));
    const changed: Changed[] = [];
    for (let added = 0, round = 0; added < lab.jobs; added += perRound, round++) {
      const count = Math.min(perRound, lab.jobs - added);
      const fault = round % 2 === 0 ? killed : cutOff;
      changed.push(...(await fault(lab, producer, count, 1 + ((round * 37) % Math.ceil(count / 2)))));
    }
    const found = await lab.settle();
    const unanswered = changed.filter(({ answer }) => answer.answer === 'unsure');
    const runs = unanswered.map(({ answer: { job }, at }) => generationsRun(lab.history.of(job), at));
    const asNew = runs.filter((generations) => generations.has(1)).length;
    return {
      found,
      checks: [
        none(
          'ran by both schedules',
          runs.filter((generations) => generations.size > 1),
        ),
        none('duplicates', found.duplicates),
        atLeast('replacements and moves without an answer', unanswered.length, 1),
      ],
      notes: [
        `${unanswered.length} replacements and moves without an answer: ${asNew} jobs ran at the new time, the others at the old one`,
      ],
    };
  },
};

interface Changed {
  readonly answer: Schedule;
  /** When the fault began. */
  readonly at: number;
}

async function killed(lab: Lab, producer: ProducerSide, count: number, after: number): Promise<Changed[]> {
  const doomed = await lab.startProducerProcess({ patience: PATIENCE });
  return change(producer, producer.through(doomed), count, after, () => doomed.kill());
}

async function cutOff(lab: Lab, producer: ProducerSide, count: number, after: number): Promise<Changed[]> {
  const proxy = await lab.owned(Proxy.to(lab.redis));
  const redis = `redis://${proxy.endpoint}`;
  const doomed = await lab.startProducerProcess({ patience: PATIENCE, redis });
  const changed = await change(producer, producer.through(doomed), count, after, () => proxy.swallow());
  await doomed.kill();
  return changed;
}

/** Adds jobs, and changes all of them at once. After some answers the fault begins. */
async function change(
  producer: ProducerSide,
  doomed: ProducerSide,
  count: number,
  after: number,
  begin: () => unknown,
): Promise<Changed[]> {
  const now = Date.now();
  const added = await producer.addMany(count, (i) => ({
    due: now + CHANGES[i % CHANGES.length]!.from,
    keyed: true,
  }));
  let answers = 0;
  let at = 0;
  const changes = added.map(async ({ job }, i) => {
    const { to, moves } = CHANGES[i % CHANGES.length]!;
    const answer = await (moves ? doomed.reschedule(job, now + to) : doomed.replace(job, now + to));
    if (++answers === after) {
      at = Date.now();
      begin();
    }
    return answer;
  });
  return (await Promise.all(changes)).map((answer) => ({ answer, at }));
}

/** The schedules as which a job ran, but for a run that may have been granted before the fault. */
function generationsRun({ runs }: JobHistory, faultAt: number): Set<number> {
  return new Set(runs.filter(({ at }) => at > faultAt + GRANTED_BEFORE).map(({ generation }) => generation));
}
