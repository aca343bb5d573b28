import { row } from './figures.js';
import type { Row, Settings } from './measure.js';
import { alternate } from './rounds.js';
import { withSystem, type Product, type System } from './systems/system.js';

type Round = (system: System, jobs: number) => Promise<{ readonly jobsPerSecond: number }>;

/** One product in two ways, alternating, by the jobs a second of a round. `least`: the target of the ratio. */
export interface Ways {
  readonly rounds: Settings['rounds'];
  readonly ours: Product;
  readonly beside: Product;
  readonly besideName: string;
  readonly least: number;
}

export async function compareWays(
  { rounds, ours, beside, besideName, least }: Ways,
  what: string,
  jobs: number,
  round: Round,
): Promise<Row> {
  const one = (product: Product) => () =>
    withSystem(product, async (system) => (await round(system, jobs)).jobsPerSecond);
  const rates = await alternate(rounds(5), { ours: one(ours), beside: one(beside) });
  return row({ what, unit: 'jobs/s', ...rates, besideName, target: { of: 'ratio', least } });
}
