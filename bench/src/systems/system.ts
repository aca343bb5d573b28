import type { Payload } from '../payload.js';
import { Servers, type NodeServer, type Places } from '../servers.js';
import { warmUp } from '../warm-up.js';
import { PRODUCTS, type ProductName } from './products.js';

/** The handler of a measure. Most of them only count. */
export type Handle = (payload: Payload) => unknown;

export interface BulkJob {
  readonly payload: Payload;
  /** Milliseconds. */
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
  /** How many nodes it needs beside its Redis. */
  readonly nodes: number;
  /** @default a beanstalkd with a binlog */
  readonly startNode?: () => Promise<NodeServer>;
  connect(places: Places, options?: ClientOptions): Promise<Client>;
}

/** One product and its servers. This process is the client. */
export interface System<S extends Places = Places> {
  readonly product: ProductName;
  readonly client: Client;
  readonly servers: S;
  /** How many jobs a second it added in its warm-up, one by one. */
  readonly addsPerSecond: number;
  /** Gives a name that no other round on these servers has. */
  readonly newQueue: () => string;
}

/** Starts servers and a system on them; see `withClient`. Stops them after `use`, also if `use` rejects. */
export async function withSystem<T>(
  product: ProductName,
  use: (system: System<Servers>) => Promise<T>,
  options?: ClientOptions,
): Promise<T> {
  const { nodes, startNode } = PRODUCTS[product];
  const servers = await Servers.start(nodes, startNode);
  try {
    return await withClient(product, servers, use, options);
  } finally {
    await servers.stop();
  }
}

/** Connects a client to servers that are there, and warms it up. Closes it after `use`, also if `use` rejects. */
export async function withClient<S extends Places, T>(
  product: ProductName,
  servers: S,
  use: (system: System<S>) => Promise<T>,
  options?: ClientOptions,
): Promise<T> {
  const client = await PRODUCTS[product].connect(servers, options);
  try {
    const addsPerSecond = await warmUp(client);
    let queues = 0;
    return await use({
      product,
      client,
      servers,
      addsPerSecond,
      newQueue: () => `queue-${process.pid}-${++queues}`,
    });
  } finally {
    await client.close();
  }
}
