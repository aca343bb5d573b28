// nest-dq with an option and without it: rates and CPU time of jobs that succeed.
import { apart } from './apart.js';
import { rowsOfActs } from './compare-ways.js';
import type { CpuTime } from './cpu.js';
import { row } from './figures.js';
import type { Row, Settings } from './measure.js';
import { ACTS, bothRounds, type Sizes } from './product-rates.js';
import { alternate } from './rounds.js';
import type { ProductName } from './systems/products.js';
import { withSystem } from './systems/system.js';

/** Schedules and drains jobs in alternating rounds; each rate should be 0.97 of that without, at least. */
export async function withAndWithout(
  product: ProductName,
  without: ProductName,
  { rounds, pick }: Settings,
): Promise<Row[]> {
  const sizes = { schedule: pick(30_000, 5_000), drain: pick(20_000, 4_000) };
  const { ours, beside } = await alternate(rounds(5), {
    ours: () => ratesAndCpu(product, sizes),
    beside: () => ratesAndCpu(without, sizes),
  });
  const micros = (act: keyof Sizes, part: keyof CpuTime) =>
    row({
      what: `${act}, 3 copies, CPU of the ${part}`,
      unit: 'µs/job',
      ours: ours.map(({ cpu }) => (1_000 * cpu[act][part]) / sizes[act]),
      beside: beside.map(({ cpu }) => (1_000 * cpu[act][part]) / sizes[act]),
      besideName: 'without',
    });
  return [
    ...rowsOfActs(
      { ours: ours.map(({ rates }) => rates), beside: beside.map(({ rates }) => rates) },
      'without',
      0.97,
    ),
    ...ACTS.flatMap((act) => [micros(act, 'client'), micros(act, 'servers')]),
  ];
}

export const ratesAndCpu = apart(import.meta.url, 'ratesAndCpu', (product: ProductName, sizes: Sizes) =>
  withSystem(product, async (system) => {
    const { schedule, drain } = await bothRounds(system, sizes);
    return {
      rates: { schedule: schedule.jobsPerSecond, drain: drain.jobsPerSecond },
      cpu: { schedule: schedule.cpu, drain: drain.cpu },
    };
  }),
);
