import fc from 'fast-check';
import { damage, withDamage } from '../../support/damage.js';
import { commands } from './acts.js';
import { differenceOf, isSame, onBoth } from './compare.js';
import type { Side } from './side.js';

/** One piece of seven is damaged. */
const damages = fc.array(fc.option(damage, { freq: 6, nil: undefined }), { maxLength: 160, size: 'max' });

/** Any bytes at all, though most are of commands: for one client to send in these pieces. */
export const streams: fc.Arbitrary<string[]> = fc
  .tuple(commands, damages)
  .map(([pieces, damaged]) => pieces.map(({ bytes }, index) => withDamage(bytes, damaged[index])));

/** One client sends the pieces and then no more. Tells where the two nodes differ in what it hears or what they then hold. */
export async function compareStreams(pieces: readonly string[]): Promise<string | undefined> {
  return onBoth(async (real, embedded) => {
    const [fromReal, fromEmbedded] = await Promise.all([send(real, pieces), send(embedded, pieces)]);
    return isSame(fromReal, fromEmbedded) ? undefined : differenceOf('it hears', fromReal, fromEmbedded);
  });
}

async function send(side: Side, pieces: readonly string[]): Promise<string> {
  const peer = await side.peer(0);
  for (const piece of pieces) {
    peer.send(piece);
    if (piece.length % 3 === 0) await new Promise(setImmediate);
  }
  peer.halfClose();
  const heard = await peer.takeAll();
  await side.forget(0);
  const ids = Array.from({ length: pieces.length }, (_, index) => index + 1);
  const left = await side.describe(['stats', 'list-tubes', ...ids.map((id) => `stats-job ${id}`)]);
  return `${heard}\nand then\n${left}`;
}
