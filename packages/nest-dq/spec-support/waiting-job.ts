import type { JobOptions, JobRef } from '../src/api/job.js';
import { embedded, type StoredCopy } from './producing.js';

export const KEY = { tube: 't', key: 'k' };
export type Kind = 'plain' | 'claimed before' | 'keyed';
export const KINDS: readonly Kind[] = ['plain', 'claimed before', 'keyed'];

/** Embedded nodes with a job that is due in ten seconds. A plain job has a record only if it was claimed before. */
export async function waiting(kind: Kind, options: JobOptions = {}) {
  const world = await embedded();
  const receipt = await world.producer.delay('t', 'old', '10s', {
    ...options,
    ...(kind === 'keyed' ? { key: 'k' } : {}),
  });
  if (kind === 'claimed before') {
    await world.clock.advance(10_000);
    const { finish } = await world.run((await world.copies())[0]!);
    await finish('retry', { due: world.clock.wall() + 10_000 });
  }
  await world.clock.advance(1);
  world.ledger.asked.length = 0;
  const ref: JobRef = kind === 'keyed' ? KEY : receipt;
  const schedule = async () => (await world.memory.tube('t').find([receipt.id]))[0];
  const stored = await world.copies();
  return Object.assign(world, { receipt, ref, schedule, old: stored });
}

export const generations = (copies: readonly StoredCopy[]) => copies.map(({ header }) => header.generation);
