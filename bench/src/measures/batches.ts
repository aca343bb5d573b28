import { row } from '../figures.js';
import type { Measure } from '../measure.js';
import { alternate } from '../rounds.js';
import type { ProductName } from '../systems/products.js';
import { ratesAndCpu } from '../with-and-without.js';

const BATCHES: ProductName = 'nest-dq, in batches of 128';

export const batches: Measure = {
  name: 'batches',
  title:
    'jobs due at one moment, 3 copies, 2 handlers at once that get batches of 128 jobs, and 256 that get one; they only count',
  run: async ({ rounds, pick }) => {
    const sizes = { schedule: pick(3_000, 1_000), drain: pick(20_000, 4_000) };
    const { ours, beside } = await alternate(rounds(5), {
      ours: () => ratesAndCpu(BATCHES, sizes),
      beside: () => ratesAndCpu('nest-dq', sizes),
    });
    const what = `${sizes.drain.toLocaleString('en-US')} jobs`;
    const besideName = 'one by one';
    const rates = (round: typeof ours) => round.map(({ rates: { drain } }) => drain);
    const micros = (round: typeof ours) => round.map(({ cpu }) => (1_000 * cpu.drain.client) / sizes.drain);
    return [
      row({ what, unit: 'jobs/s', ours: rates(ours), beside: rates(beside), besideName }),
      row({
        what: 'CPU of the client',
        unit: 'µs/job',
        ours: micros(ours),
        beside: micros(beside),
        besideName,
      }),
    ];
  },
};
