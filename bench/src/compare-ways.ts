import { row } from './figures.js';
import type { Row, Settings, Target } from './measure.js';
import type { ProductRate } from './product-rates.js';
import { alternate } from './rounds.js';
import type { ProductName } from './systems/products.js';

/** One product in two ways, alternating, by the jobs a second of a round. */
export interface Ways {
  readonly rounds: Settings['rounds'];
  readonly ours: ProductName;
  readonly beside: ProductName;
  readonly besideName: string;
  /** The target of the ratio. */
  readonly least: number;
}

export async function compareWays(
  { rounds, ours, beside, besideName, least }: Ways,
  what: string,
  jobs: number,
  rate: ProductRate,
): Promise<Row> {
  const rates = await alternate(rounds(5), {
    [ours]: () => rate(ours, jobs),
    [beside]: () => rate(beside, jobs),
  });
  const target: Target = { of: 'ratio', least };
  return row({ what, unit: 'jobs/s', ours: rates[ours]!, beside: rates[beside]!, besideName, target });
}
