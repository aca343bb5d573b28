import { Servers, type Places } from '../servers.js';
import { warmUp } from '../warm-up.js';
import type { Client, ClientOptions } from './product.js';
import { PRODUCTS, type ProductName } from './products.js';

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
