import type { Places } from '../servers.js';
import type { ProductName } from '../systems/products.js';

/** The argument of a consumer process, as JSON. */
export interface ConsumerArguments {
  readonly product: ProductName;
  readonly places: Places;
  readonly queue: string;
  readonly concurrency: number;
  /** How long a handler runs, in ms. */
  readonly handler: number;
}

/** Report of a consumer process, sent several times a second. Durations in ms; times in ms since 1970. */
export interface ConsumerReport {
  readonly at: number;
  /** Runs begun up to now. */
  readonly count: number;
  /** When the last of these runs began. */
  readonly lastAt: number;
  /** The sum of the times that its handlers ran. */
  readonly busy: number;
}
