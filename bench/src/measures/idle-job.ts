import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { alignClock, machineTime } from '../clock.js';
import { addBeforeDue } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloads } from '../payload.js';
import { once } from '../rounds.js';
import { RunCount } from '../run-count.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';

const SLOTS = 10;
/** Milliseconds that the intervals differ from whole seconds, so that jobs are due at all parts of a second. */
const SHIFT = 37;
/** Milliseconds in which both systems start, warm up and store their jobs, at the same time. */
const START = 20_000;

export const idleJob: Measure = {
  name: 'idle-job',
  title: 'lateness of a single job after an idle time; both systems in processes of their own, in turns',
  run: async ({ pick }) => {
    const seconds = pick(10, 5);
    const often: Jobs = { count: pick(20, 10), apart: 1_000 + SHIFT };
    const seldom: Jobs = { count: 2, apart: 1_000 * seconds + SHIFT };
    const lates = await once(async () => {
      const begin = Math.ceil(machineTime() + START);
      const [ours, peer] = await Promise.all([
        idleLateness('nest-dq', begin, 0, often, seldom),
        idleLateness('BullMQ', begin, 1 / 2, often, seldom),
      ]);
      return { ours, peer };
    });
    const compared = (what: string, part: number, of: keyof IdleLateness) =>
      row({
        what,
        unit: 'ms',
        ours: lates.map(({ ours }) => percentile(ours[of], part)),
        beside: lates.map(({ peer }) => percentile(peer[of], part)),
        target: { of: 'ours', most: 5 },
      });
    return [
      compared('after a second: p50', 0.5, 'often'),
      compared('after a second: p99', 0.99, 'often'),
      compared(`after ${seconds} s: worst of ${seldom.count}`, 1, 'seldom'),
    ];
  },
};

/** Number of jobs, and ms between their due times. */
interface Jobs {
  readonly count: number;
  readonly apart: number;
}

/** The lateness of each job, in ms. */
interface IdleLateness {
  readonly often: Float64Array;
  readonly seldom: Float64Array;
}

/**
 * Runs single jobs, whose idle times begin at `begin` (ms since 1970), each later by this part of the time between two. So the jobs of
 * one system are due midway between those of the other.
 */
export const idleLateness = apart(
  import.meta.url,
  'idleLateness',
  (product: ProductName, begin: number, later: number, often: Jobs, seldom: Jobs) =>
    withSystem(product, async (system): Promise<IdleLateness> => {
      const then = begin + often.count * often.apart;
      return {
        often: await singleJobs(system, often, begin + later * often.apart),
        seldom: await singleJobs(system, seldom, then + later * seldom.apart),
      };
    }),
);

/** The lateness of each job, in ms. `begin`: when the idle time before the first of them begins, in ms since 1970. */
async function singleJobs(
  system: System,
  { count, apart: between }: Jobs,
  begin: number,
): Promise<Float64Array> {
  alignClock();
  const queue = system.newQueue();
  const samples = new Float64Array(count);
  const runs = new RunCount(count);
  await system.client.consume(
    queue,
    (payload) => {
      samples[payload.n] = machineTime() - payload.due;
      runs.add(payload);
    },
    SLOTS,
  );
  await addBeforeDue(
    system,
    queue,
    payloads(count, (n) => Math.ceil(begin + (n + 1) * between)),
  );
  await runs.done;
  return samples;
}
