import { Random } from '../../model/random.js';
import { drawActs } from './acts.js';
import { differenceOf, isSame, onBoth } from './compare.js';
import type { Side } from './side.js';

/** Any bytes at all, though most are of commands: for one client to send in these pieces. */
export function drawStream(seed: number): string[] {
  const random = new Random(seed);
  const pieces = drawActs(seed, 40).flatMap((act) => ('commands' in act ? act.commands : []));
  return pieces.map(({ bytes }) => (random.chance(0.15) ? damage(bytes, random) : bytes));
}

function damage(bytes: string, random: Random): string {
  const [from, to] = [random.between(0, bytes.length), random.between(0, bytes.length)];
  switch (random.between(0, 3)) {
    case 0: // a part is missing
      return bytes.slice(0, Math.min(from, to)) + bytes.slice(Math.max(from, to));
    case 1: // a part comes again
      return bytes.slice(0, Math.max(from, to)) + bytes.slice(Math.min(from, to));
    case 2: // a byte is another
      return bytes.slice(0, from) + random.pick(['\r', '\n', '\0', ' ', '-', '\xff']) + bytes.slice(from + 1);
    default: // noise comes between
      return bytes.slice(0, from) + noise(random) + bytes.slice(from);
  }
}

/** No digits, so that no time becomes a short one. */
function noise(random: Random): string {
  const length = random.pick([1, 2, 10, 222, 223, 224, 225, 448, 600]);
  return Array.from({ length }, () => random.pick(['\r', '\n', '\r\n', '\0', ' ', 'x', '\xff'])).join('');
}

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
