import { percentile } from 'test-servers';
import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { payloadOf } from '../payload.js';
import { pickupRound } from '../pickup-round.js';
import { alternate } from '../rounds.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product, type System } from '../systems/system.js';
import { CONCURRENCY } from '../drain-round.js';
import { pause } from '../waiting.js';

export const immediate: Measure = {
  name: 'immediate',
  title: 'from the call of an add without delay to the start of its handler, jobs one by one',
  run: async ({ rounds, pick }) => {
    const samples = pick(500, 100);
    const idle = (product: Product) => () => withSystem(product, (system) => oneByOne(system, samples));
    const { ours, peer } = await alternate(rounds(3), { ours: idle(nestDq), peer: idle(bullMq) });
    const busy = await withSystem(nestDq, (system) => pickupRound(system, pick(400, 50)));
    const at = (part: number, values: readonly number[][]) => values.map((all) => percentile(all, part));
    const taken = 'with 46 of 50 slots in 10 s handlers';
    return [
      row({
        what: 'idle: p50',
        unit: 'ms',
        ours: at(0.5, ours),
        beside: at(0.5, peer),
        target: { of: 'ours', most: 1 },
      }),
      row({ what: 'idle: p99', unit: 'ms', ours: at(0.99, ours), beside: at(0.99, peer) }),
      row({ what: `${taken}: p50`, unit: 'ms', ours: [percentile(busy.fromCall, 0.5)] }),
      row({ what: `${taken}: p99`, unit: 'ms', ours: [percentile(busy.fromCall, 0.99)] }),
      row({ what: `${taken}: p99 from the receipt`, unit: 'ms', ours: [percentile(busy.fromReceipt, 0.99)] }),
      row({ what: `${taken}: a node's most`, unit: 'connections', ours: [busy.connections] }),
    ];
  },
};

/** Milliseconds between two jobs: enough for the completion and the deletions of the first one. */
const BETWEEN = 8;

async function oneByOne({ client, newQueue }: System, count: number): Promise<number[]> {
  const samples: number[] = [];
  const queue = newQueue();
  let started: () => void = () => undefined;
  await client.consume(queue, () => started(), CONCURRENCY);
  for (let n = 0; n < count; n++) {
    await pause(BETWEEN);
    const from = performance.now();
    const start = new Promise<void>((resolve) => {
      started = () => {
        samples.push(performance.now() - from);
        resolve();
      };
    });
    await client.now(queue, payloadOf(n));
    await start;
  }
  return samples;
}
