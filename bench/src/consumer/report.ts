import type { Places } from '../servers.js';
import type { Product } from '../systems/system.js';

/** What a consumer process is told, as JSON. */
export interface ConsumerArguments {
  readonly product: Product['name'];
  readonly places: Places;
  readonly queue: string;
  readonly concurrency: number;
  /** What a handler takes, in ms. */
  readonly handler: number;
}

/** What it tells, some times a second while it has news. Times in ms; instants since 1970. */
export interface ConsumerReport {
  readonly at: number;
  /** Runs begun up to now. */
  readonly count: number;
  /** When the last of them began. */
  readonly lastAt: number;
  /** The time that all its handlers ran, together. */
  readonly busy: number;
}
