import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { CONCURRENCY } from '../drain-round.js';
import { row } from '../figures.js';
import type { Measure, Target } from '../measure.js';
import { payloadOf } from '../payload.js';
import { pickupRound } from '../pickup-round.js';
import { alternate, once } from '../rounds.js';
import { FAR } from '../schedule-round.js';
import type { ProductName } from '../systems/products.js';
import { withSystem, type System } from '../systems/system.js';
import { pause } from '../waiting.js';

export const immediate: Measure = {
  name: 'immediate',
  title:
    'from the call of an add without delay to the start of its handler, and to its acknowledgement, jobs one by one; and to that of an add with a delay',
  run: async ({ rounds, pick }) => {
    const samples = pick(500, 100);
    const { ours, peer } = await alternate(rounds(3), {
      ours: () => oneByOne('nest-dq', samples),
      peer: () => oneByOne('BullMQ', samples),
    });
    const busy = await once(() => pickup(pick(400, 50)));
    const compared = (
      what: string,
      of: keyof OneByOne,
      targets: readonly [p50?: Target, p99?: Target] = [],
    ) =>
      [0.5, 0.99].map((part, index) =>
        row({
          what: `${what}: p${100 * part}`,
          unit: 'ms',
          ours: ours.map((times) => percentile(times[of], part)),
          beside: peer.map((times) => percentile(times[of], part)),
          ...(targets[index] && { target: targets[index] }),
        }),
      );
    const taken = 'with 46 of 50 slots in 10 s handlers';
    return [
      ...compared('idle', 'started', [
        { of: 'ours', most: 1 },
        { of: 'ratio', most: 1 },
      ]),
      ...compared('idle, until acknowledged', 'acknowledged'),
      ...compared('a delay, until acknowledged', 'delayed'),
      row({ what: `${taken}: p50`, unit: 'ms', ours: busy.map(({ fromCall }) => percentile(fromCall, 0.5)) }),
      row({
        what: `${taken}: p99`,
        unit: 'ms',
        ours: busy.map(({ fromCall }) => percentile(fromCall, 0.99)),
      }),
      row({
        what: `${taken}: p99 from the receipt`,
        unit: 'ms',
        ours: busy.map(({ fromReceipt }) => percentile(fromReceipt, 0.99)),
      }),
      row({
        what: `${taken}: a node's most`,
        unit: 'connections',
        ours: busy.map((each) => each.connections),
      }),
    ];
  },
};

/** Milliseconds between two jobs: enough for the completion and the deletions of the first one. */
const BETWEEN = 8;
/** Adds one by one before those that count, as what is done for a single job is not what the warm-up compiles. */
const WARM_DELAYS = 2_000;
const WARM_NOWS = 300;

/** Times from each call, in ms. */
interface OneByOne {
  /** Adds without delay: until the handler starts, and until the add is acknowledged. */
  readonly started: readonly number[];
  readonly acknowledged: readonly number[];
  /** Adds that are due much later: until the add is acknowledged. */
  readonly delayed: readonly number[];
}

export const oneByOne = apart(import.meta.url, 'oneByOne', (product: ProductName, count: number) =>
  withSystem(product, async (system): Promise<OneByOne> => {
    await delays(system, WARM_DELAYS);
    await nows(system, WARM_NOWS);
    const delayed = await delays(system, count);
    return { ...(await nows(system, count)), delayed };
  }),
);

export const pickup = apart(import.meta.url, 'pickup', (samples: number) =>
  withSystem('nest-dq', async (system) => {
    await nows(system, WARM_NOWS);
    return pickupRound(system, samples);
  }),
);

async function nows({ client, newQueue }: System, count: number): Promise<Omit<OneByOne, 'delayed'>> {
  const [started, acknowledged]: [number[], number[]] = [[], []];
  const queue = newQueue();
  let onStart: () => void = () => undefined;
  const stop = await client.consume(queue, () => onStart(), CONCURRENCY);
  for (let n = 0; n < count; n++) {
    await pause(BETWEEN);
    const from = performance.now();
    const start = new Promise<void>((resolve) => {
      onStart = () => {
        started.push(performance.now() - from);
        resolve();
      };
    });
    await client.now(queue, payloadOf(n));
    acknowledged.push(performance.now() - from);
    await start;
  }
  await stop();
  return { started, acknowledged };
}

async function delays({ client, newQueue }: System, count: number): Promise<number[]> {
  const times: number[] = [];
  const queue = newQueue();
  for (let n = 0; n < count; n++) {
    const from = performance.now();
    await client.delay(queue, payloadOf(n), FAR);
    times.push(performance.now() - from);
  }
  return times;
}
