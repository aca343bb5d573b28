import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectNestDq } from './nest-dq.js';
import type { Product } from './product.js';

/** nest-dq without servers: an embedded node and ledger, in memory. */
export const embeddedInMemory: Product = {
  nodes: 0,
  connect: () => connectNestDq({}),
};

/** The same, stored in a folder. */
export const embeddedInFolder: Product = {
  nodes: 0,
  connect: async () => {
    const dir = await mkdtemp(join(tmpdir(), 'nest-dq-bench-'));
    const client = await connectNestDq({ embedded: { dir } });
    const close = client.close.bind(client);
    client.close = async () => {
      await close();
      await rm(dir, { recursive: true, force: true });
    };
    return client;
  },
};
