import { randomBytes } from 'node:crypto';
import { defineTube } from 'nest-dq';
import { bullMq } from './bullmq.js';
import { embeddedInFolder, embeddedInMemory } from './embedded.js';
import { nestDq, nestDqWith } from './nest-dq.js';
import { startServed } from './served.js';
import type { Product } from './product.js';

/** All products, and the ways in which they are used, by a name that another process can get. */
const ALL = {
  'nest-dq': nestDq,
  'nest-dq, sealed': nestDqWith({ seal: { keys: { '2026-11': randomBytes(32) }, current: '2026-11' } }),
  'nest-dq, no index': nestDqWith({ index: false }),
  'nest-dq, keeps no errors': nestDqWith({ keepErrors: false }),
  'nest-dq, keeps completed jobs': nestDqWith({ keepDone: { max: 1_000_000 } }),
  'nest-dq, repaired by hand': nestDqWith({ repair: false }),
  "nest-dq, go-queue's tubes": nestDqWith({}, { tubeOf: (name) => defineTube(name, { wire: 'go-queue' }) }),
  'nest-dq, in batches of 128': nestDqWith({}, { batch: 128 }),
  'nest-dq, served in memory': { ...nestDq, startNode: () => startServed('memory') },
  'nest-dq, served in folders': { ...nestDq, startNode: () => startServed('folder') },
  'nest-dq, embedded in memory': embeddedInMemory,
  'nest-dq, embedded in a folder': embeddedInFolder,
  BullMQ: bullMq,
} satisfies Readonly<Record<string, Product>>;

export type ProductName = keyof typeof ALL;

export const PRODUCTS: Readonly<Record<ProductName, Product>> = ALL;
