import type { Payload } from '../payload.js';
import type { NodeServer, Places } from '../servers.js';

/** The handler of a measure. Most of them only count. */
export type Handle = (payload: Payload) => unknown;

export interface BulkJob {
  readonly payload: Payload;
  /** Delay in ms. */
  readonly delay: number;
  /** The user's own name for the job. */
  readonly key?: string;
}

/** A job system as the application of a user sees it. So each measure is written once for both systems. */
export interface Client {
  now(queue: string, payload: Payload): Promise<unknown>;
  /** `delay`: milliseconds. `key`: the user's own name for the job. Resolves when the job is stored; rejects if it is not. */
  delay(queue: string, payload: Payload, delay: number, key?: string): Promise<unknown>;
  /** Adds a job that is due at the time in its payload. */
  at(queue: string, payload: Payload): Promise<unknown>;
  /** Revokes a job. `added`: the result of `delay`. Rejects if it is too late. */
  revoke(added: unknown): Promise<void>;
  /** Rejects if one of them is not stored. */
  delayMany(queue: string, jobs: readonly BulkJob[]): Promise<unknown>;
  /** Resolves when the consumer is ready, with a function that stops it. */
  consume(queue: string, handle: Handle, concurrency: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface ClientOptions {
  /** Copies of a job. BullMQ has none. @default 3 */
  readonly replicas?: number;
}

export interface Product {
  /** Number of nodes it needs in addition to its Redis. */
  readonly nodes: number;
  /** @default a beanstalkd with a binlog */
  readonly startNode?: () => Promise<NodeServer>;
  connect(places: Places, options?: ClientOptions): Promise<Client>;
}
