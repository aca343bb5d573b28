import { percentile } from 'test-servers';
import { row } from '../figures.js';
import { latenessRound, type Lateness } from '../lateness-round.js';
import type { Measure, Row } from '../measure.js';
import { alternate } from '../rounds.js';
import { bullMq } from '../systems/bullmq.js';
import { nestDq } from '../systems/nest-dq.js';
import { withSystem, type Product } from '../systems/system.js';

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
    const rows: Row[] = [];
    for (const { rate, handler, most } of LOADS) {
      const round = (product: Product) => () =>
        withSystem(product, (system) => latenessRound(system, { rate, seconds, handler }));
      const { ours, peer } = await alternate(rounds(3), { ours: round(nestDq), peer: round(bullMq) });
      const load = `${rate.toLocaleString('en-US')}/s${handler > 0 ? `, ${handler} ms handlers` : ''}`;
      const at = (part: number, values: readonly Lateness[]) =>
        values.map(({ samples }) => percentile(samples, part));
      const early = (values: readonly Lateness[]) => values.map(({ samples }) => earlyOnes(samples));
      rows.push(
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
          ours: [sum(early(ours))],
          beside: [sum(early(peer))],
          target: { of: 'ours', most: 0 },
        }),
      );
    }
    return rows;
  },
};

function earlyOnes(samples: Float64Array): number {
  return samples.filter((late) => late < 0).length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
