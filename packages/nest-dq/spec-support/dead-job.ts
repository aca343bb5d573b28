import type { JobOptions } from '../src/api/job.js';
import { embedded } from './producing.js';

export const KEY = { tube: 't', key: 'k' };
export const BOOM = { name: 'TypeError', message: 'boom', stack: 'TypeError: boom\n    at x' };

/** Embedded nodes with a dead job. Its copies are buried. */
export async function withDead(options: JobOptions = {}, prefix = '') {
  const world = await embedded(3, prefix);
  const tube = `${prefix}t`;
  const receipt = await world.producer.now('t', { a: 1 }, options);
  const [primary] = await world.copies(tube);
  await (await world.run(primary!, 10, tube)).finish('dead', { death: { why: 'attempts', error: BOOM } });
  await world.clock.advance(5_000); // the backups surface
  await world.bury(tube);
  world.ledger.asked.length = 0;
  const states = async () => (await world.copies(tube)).map(({ state }) => state);
  return Object.assign(world, { receipt, states });
}

export const BURIED = ['buried', 'buried', 'buried'];
