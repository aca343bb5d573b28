import { row } from './figures.js';
import type { Row, Settings, Target } from './measure.js';
import { bothRates, type Sizes } from './product-rates.js';
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
  sizes: Sizes,
): Promise<Row[]> {
  const rates = await alternate(rounds(5), {
    ours: () => bothRates(ours, sizes),
    beside: () => bothRates(beside, sizes),
  });
  const target: Target = { of: 'ratio', least };
  return (['schedule', 'drain'] as const).map((act) =>
    row({
      what: `${act}, 3 copies`,
      unit: 'jobs/s',
      ours: rates.ours.map((each) => each[act]),
      beside: rates.beside.map((each) => each[act]),
      besideName,
      target,
    }),
  );
}
