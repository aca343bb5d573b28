import { row } from './figures.js';
import type { Row, Settings } from './measure.js';
import { ACTS, bothRates, type Rates, type Sizes } from './product-rates.js';
import { alternate, type Rounds } from './rounds.js';
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
  sizes: Sizes,
): Promise<Row[]> {
  const rates = await alternate(rounds(5), {
    ours: () => bothRates(ours, sizes),
    beside: () => bothRates(beside, sizes),
  });
  return rowsOfActs(rates, besideName, least);
}

/** A row for each act. `least`: the target of the ratio. */
export function rowsOfActs(
  { ours, beside }: Readonly<Record<'ours' | 'beside', Rounds<Rates>>>,
  besideName: string,
  least?: number,
): Row[] {
  return ACTS.map((act) =>
    row({
      what: `${act}, 3 copies`,
      unit: 'jobs/s',
      ours: ours.map((rates) => rates[act]),
      beside: beside.map((rates) => rates[act]),
      besideName,
      ...(least !== undefined && { target: { of: 'ratio', least } }),
    }),
  );
}
