import fc from 'fast-check';
import { commands } from './acts.js';
import { differenceOf, isSame, onBoth } from './compare.js';
import type { Side } from './side.js';

interface Damage {
  readonly kind: 'a part is missing' | 'a part comes again' | 'a byte is another' | 'noise comes between';
  /** Of the length, from 0 to 100. */
  readonly from: number;
  readonly to: number;
  readonly byte: string;
  readonly noise: string;
}

/** No digits, so that no time becomes a short one. */
const noise = fc
  .tuple(
    fc.string({
      unit: fc.constantFrom('\r', '\n', '\r\n', '\0', ' ', 'x', '\xff'),
      minLength: 1,
      maxLength: 10,
    }),
    fc.constantFrom(0, 0, 0, 220, 222, 440, 590),
  )
  .map(([text, more]) => text + 'x'.repeat(more));
const damage: fc.Arbitrary<Damage> = fc.record({
  kind: fc.constantFrom(
    'a part is missing',
    'a part comes again',
    'a byte is another',
    'noise comes between',
  ),
  from: fc.nat({ max: 100 }),
  to: fc.nat({ max: 100 }),
  byte: fc.constantFrom('\r', '\n', '\0', ' ', '-', '\xff'),
  noise,
});
/** One piece of seven is damaged. */
const damages = fc.array(fc.option(damage, { freq: 6, nil: undefined }), { maxLength: 160, size: 'max' });

/** Any bytes at all, though most are of commands: for one client to send in these pieces. */
export const streams: fc.Arbitrary<string[]> = fc
  .tuple(commands, damages)
  .map(([pieces, damaged]) => pieces.map(({ bytes }, index) => withDamage(bytes, damaged[index])));

function withDamage(bytes: string, damaged: Damage | undefined): string {
  if (!damaged) return bytes;
  const at = (part: number) => Math.floor((bytes.length * part) / 100);
  const [from, to] = [at(damaged.from), at(damaged.to)];
  switch (damaged.kind) {
    case 'a part is missing':
      return bytes.slice(0, Math.min(from, to)) + bytes.slice(Math.max(from, to));
    case 'a part comes again':
      return bytes.slice(0, Math.max(from, to)) + bytes.slice(Math.min(from, to));
    case 'a byte is another':
      return bytes.slice(0, from) + damaged.byte + bytes.slice(from + 1);
    case 'noise comes between':
      return bytes.slice(0, from) + damaged.noise + bytes.slice(from);
  }
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
