import fc from 'fast-check';

export interface Damage {
  readonly kind: 'a part is missing' | 'a part comes again' | 'a byte is another' | 'noise comes between';
  /** Start of the damage, in percent of the length. */
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
export const damage: fc.Arbitrary<Damage> = fc.record({
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
/** `bytes` in latin1. */
export function withDamage(bytes: string, damaged: Damage | undefined): string {
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
