import type { Payload } from '../payload.js';
import { Servers, type Places } from '../servers.js';
import { warmUp } from '../warm-up.js';

/** What a handler of a measure does: mostly it only counts. */
export type Handle = (payload: Payload) => unknown;

export interface BulkJob {
  readonly payload: Payload;
  /** Milliseconds. */
  readonly delay: number;
  /** The user's own name for the job. */
  readonly key?: string;
}

/** A job system as a process of its users sees it, so that each measure is written once. */
export interface Client {
  now(queue: string, payload: Payload): Promise<unknown>;
  /** `delay` in ms, `key` the user's own name for it. Resolves when the job is stored; rejects if it is not. */
  delay(queue: string, payload: Payload, delay: number, key?: string): Promise<unknown>;
  /** At the time that the payload says. */
  at(queue: string, payload: Payload): Promise<unknown>;
  /** Cancels the job that `delay` resolved with; rejects if that is too late. */
  revoke(added: unknown): Promise<void>;
  /** Rejects if one of them is not stored. */
  delayMany(queue: string, jobs: readonly BulkJob[]): Promise<unknown>;
  /** Resolves when it consumes, and gives how to end that. */
  consume(queue: string, handle: Handle, concurrency: number): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface ClientOptions {
  /** Copies of a job, where there are copies. @default 3 */
  readonly replicas?: number;
}

export interface Product {
  readonly name: 'nest-dq' | 'BullMQ';
  /** How many beanstalkds it needs beside its Redis. */
  readonly nodes: number;
  connect(places: Places, options?: ClientOptions): Promise<Client>;
}

/** Servers of its own, and this process as their client. */
export interface System {
  readonly product: Product;
  readonly client: Client;
  readonly servers: Servers;
  /** How many it added in a second, one by one, as it was warmed up. */
  readonly addsPerSecond: number;
  /** A name that no other round on these servers has. */
  readonly newQueue: () => string;
}

/** Starts a system and warms it up, and ends it whatever `use` comes to. */
export async function withSystem<T>(
  product: Product,
  use: (system: System) => Promise<T>,
  options?: ClientOptions,
): Promise<T> {
  const servers = await Servers.start(product.nodes);
  try {
    const client = await product.connect(servers, options);
    try {
      const addsPerSecond = await warmUp(client);
      let queues = 0;
      return await use({
        product,
        client,
        servers,
        addsPerSecond,
        newQueue: () => `queue-${++queues}`,
      });
    } finally {
      await client.close();
    }
  } finally {
    await servers.stop();
  }
}
