import { stored } from './stored.js';
import { keyedId, parseRef } from '../src/copies/job-ref.js';
import type { JobReceipt } from '../src/api/job.js';
import { embedded } from './producing.js';

export const ID = keyedId(stored('t'), 'k');
export const KEY = { tube: 't', key: 'k' };
export const born = (receipt: JobReceipt) => parseRef(receipt, '').born!;

/** Embedded nodes with a job that has a key and is due. */
export async function waiting() {
  const world = await embedded();
  const first = await world.producer.now('t', 'old', { key: 'k' });
  await world.clock.advance(1);
  const [primary] = await world.copies();
  return Object.assign(world, { first, primary: primary! });
}
