import { alignClock, machineTime } from '../clock.js';
import { dueAfterAdding } from '../drain-round.js';
import { inFlight } from '../in-flight.js';
import { percentile, row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { RunCount } from '../run-count.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type System } from '../systems/system.js';

const SLOTS = 10;
/** Milliseconds between two jobs of one system: no whole seconds, so that they are due at all parts of a second. */
const APART = 1_037;

export const idleJob: Measure = {
  name: 'idle-job',
  title: 'lateness of a single job after an idle second; both systems in one process, half a second apart',
  run: async ({ pick }) => {
    const jobs = pick(60, 10);
    const [ours, peer] = await withSystem(nestDq, (own) =>
      withSystem(bullMq, async (other) => {
        alignClock();
        const begin = dueAfterAdding(jobs, own, other);
        return Promise.all([singleJobs(own, jobs, begin), singleJobs(other, jobs, begin + APART / 2)]);
      }),
    );
    const at = (part: number, samples: Float64Array) => [percentile(samples, part)];
    return [
      row({ what: 'p50', unit: 'ms', ours: at(0.5, ours), beside: at(0.5, peer) }),
      row({
        what: 'p99',
        unit: 'ms',
        ours: at(0.99, ours),
        beside: at(0.99, peer),
        target: { of: 'ours', most: 5 },
      }),
    ];
  },
};

/** How late each was, in ms. `begin`: when the first is due, in ms since 1970. */
async function singleJobs({ client, newQueue }: System, jobs: number, begin: number): Promise<Float64Array> {
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
    payloads(jobs, (n) => Math.ceil(begin + n * APART)),
    (payload) => client.at(queue, payload),
  );
  await runs.done;
  return samples;
}
