import type { DeadLetter } from '../src/api/dead-letter.js';
import type { Death } from '../src/ledger/requests.js';
import { embedded } from './producing.js';

const SECOND = 1_000;

/** Embedded nodes with dead jobs `0`, `1`, …, whose copies are buried; each died ten seconds after the one before. */
export async function withDeadJobs(count: number, prefix = '') {
  const world = await embedded(3, prefix);
  const { clock, copies, producer, deadLetters } = world;
  const tube = `${prefix}t`;
  /** Each is the payload of a job that waits and is due. They die in this moment, one after the other. */
  const kill = async (payloads: string | readonly string[], death: Death = { why: 'attempts' }) => {
    const found = await copies(tube);
    for (const payload of [payloads].flat()) {
      const primaries = found.filter((copy) => copy.payload === payload && copy.header.index === 0);
      await (await world.run(primaries.at(-1)!, 10, tube)).finish('dead', { death });
    }
    await clock.advance(10 * SECOND); // the backups surface
    await world.bury(tube);
  };
  const addAndKill = async (payloads: readonly string[], death?: Death) => {
    await producer.addMany(
      't',
      payloads.map((payload) => ({ payload, delay: 0 })),
    );
    await clock.advance(0);
    await kill(payloads, death);
  };
  for (let i = 0; i < count; i++) await addAndKill([String(i)]);
  const letters = async () => (await deadLetters.list('t', { limit: 1_000 })).letters;
  return Object.assign(world, {
    kill,
    addAndKill,
    /** The newest first. */
    dead: async () => (await letters()).map(({ payload }) => payload),
    letter: async (payload: string): Promise<DeadLetter> =>
      (await letters()).find((letter) => letter.payload === payload)!,
  });
}
