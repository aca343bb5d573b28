import { alignClock, machineTime } from '../clock.js';
import { dueAfterAdding } from '../drain-round.js';
import { inFlight } from '../in-flight.js';
import { percentile } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { RunCount } from '../run-count.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';

const SLOTS = 10;
/** Milliseconds that the intervals differ from whole seconds, so that jobs are due at all parts of a second. */
const SHIFT = 37;

export const idleJob: Measure = {
  name: 'idle-job',
  title: 'lateness of a single job after an idle time; both systems in one process, in turns',
  run: async ({ pick }) => {
    const seconds = pick(60, 5);
    const [often, seldom] = await withSystem(nestDq, (own) =>
      withSystem(bullMq, async (other) => [
        await singleJobs([own, other], pick(60, 10), 1_000 + SHIFT),
        await singleJobs([own, other], pick(3, 2), 1_000 * seconds + SHIFT),
      ]),
    );
    const compared = (what: string, part: number, { ours, peer }: Lates) =>
      row({
        what,
        unit: 'ms',
        ours: [percentile(ours, part)],
        beside: [percentile(peer, part)],
        target: { of: 'ours', most: 5 },
      });
    return [
      compared('after a second: p50', 0.5, often!),
      compared('after a second: p99', 0.99, often!),
      compared(`after ${seconds} s: worst of ${seldom!.ours.length}`, 1, seldom!),
    ];
  },
};

/** The lateness of each job, in ms. */
interface Lates {
  readonly ours: Float64Array;
  readonly peer: Float64Array;
}

/** Each system runs a job every `apart` ms. The jobs of one system are due midway between those of the other. */
async function singleJobs(
  [own, other]: readonly [System, System],
  jobs: number,
  apart: number,
): Promise<Lates> {
  alignClock();
  const begin = dueAfterAdding(jobs, own, other);
  const [ours, peer] = await Promise.all([
    singleJobsOf(own, jobs, begin, apart),
    singleJobsOf(other, jobs, begin + apart / 2, apart),
  ]);
  return { ours, peer };
}

/** The lateness of each job, in ms. `begin`: when the first job is due, in ms since 1970. */
async function singleJobsOf(
  { client, newQueue }: System,
  jobs: number,
  begin: number,
  apart: number,
): Promise<Float64Array> {
  const queue = newQueue();
  const samples = new Float64Array(jobs);
  const runs = new RunCount(jobs);
  await client.consume(
    queue,
    (payload) => {
      samples[payload.n] = machineTime() - payload.due;
      runs.add(payload);
    },
    SLOTS,
  );
  await inFlight(
    payloads(jobs, (n) => Math.ceil(begin + n * apart)),
    (payload) => client.at(queue, payload),
  );
  await runs.done;
  return samples;
}
