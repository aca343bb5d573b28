import { percentile } from 'test-servers';
import { apart } from '../apart.js';
import { row } from '../figures.js';
import { latenessRound, type Load } from '../lateness-round.js';
import type { Measure, Row } from '../measure.js';
import { alternate, type Rounds } from '../rounds.js';
import type { ProductName } from '../systems/products.js';
import { withSystem } from '../systems/system.js';

/** Jobs a second, spread evenly; how long a handler runs, in ms; and the target for our p99, in ms. */
const LOADS = [
  { rate: 400, handler: 0, most: 5 },
  { rate: 2_000, handler: 0, most: 5 },
  { rate: 6_000, handler: 1, most: 10 },
];

export const lateness: Measure = {
  name: 'lateness',
  title: 'from the due time to the start of the handler, nothing else going on, by the rate of due jobs',
  run: async ({ rounds, pick }) => {
    const seconds = pick(5, 2);
    const loads = LOADS.map(({ rate, handler }) => ({ rate, seconds, handler }));
    const all = await alternate(rounds(3), {
      ours: () => latenessOf('nest-dq', loads),
      peer: () => latenessOf('BullMQ', loads),
    });
    return LOADS.flatMap(({ rate, handler, most }, index): Row[] => {
      const of = (lates: Rounds<readonly Float64Array[]>) => lates.map((samples) => samples[index]!);
      const [ours, peer] = [of(all.ours), of(all.peer)] as const;
      const load = `${rate.toLocaleString('en-US')}/s${handler > 0 ? `, ${handler} ms handlers` : ''}`;
      const at = (part: number, lates: Rounds<Float64Array>) =>
        lates.map((samples) => percentile(samples, part));
      return [
        row({ what: `${load}: p50`, unit: 'ms', ours: at(0.5, ours), beside: at(0.5, peer) }),
        row({
          what: `${load}: p99`,
          unit: 'ms',
          ours: at(0.99, ours),
          beside: at(0.99, peer),
          target: { of: 'ours', most },
        }),
        row({ what: `${load}: worst`, unit: 'ms', ours: at(1, ours), beside: at(1, peer) }),
        row({
          what: `${load}: early`,
          unit: 'jobs',
          ours: ours.together(earlyOnes),
          beside: peer.together(earlyOnes),
          target: { of: 'ours', most: 0 },
        }),
      ];
    });
  },
};

function earlyOnes(rounds: readonly Float64Array[]): number {
  return rounds.reduce((sum, samples) => sum + samples.filter((late) => late < 0).length, 0);
}

/** Returns the lateness of each job in ms (negative: early) for each load. The loads run one after the other. */
export const latenessOf = apart(
  import.meta.url,
  'latenessOf',
  (product: ProductName, loads: readonly Load[]) =>
    withSystem(product, async (system) => {
      const lates: Float64Array[] = [];
      for (const load of loads) lates.push((await latenessRound(system, load)).samples);
      return lates;
    }),
);
