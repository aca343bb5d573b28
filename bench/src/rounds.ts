import { patiently } from './patience.js';

/**
 * Runs each contender once in each round, one after the other, and in reverse order in every second round. So a machine that
 * becomes slower or faster affects all of them alike. The values are in the order of the rounds.
 */
export async function alternate<const C extends Readonly<Record<string, () => Promise<unknown>>>>(
  rounds: number,
  contenders: C,
): Promise<{ [K in keyof C]: Awaited<ReturnType<C[K]>>[] }> {
  const names: (keyof C)[] = Object.keys(contenders);
  const values = Object.fromEntries(names.map((name) => [name, [] as unknown[]]));
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      values[name as string]!.push(await patiently(contenders[name]!));
    }
  }
  return values as { [K in keyof C]: Awaited<ReturnType<C[K]>>[] };
}
