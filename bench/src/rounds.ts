import { machineTimes, timesSince, totalTimes, type MachineTimes } from './disturbance.js';
import { patiently } from './patience.js';
import { tell } from './progress.js';

/** The values of all rounds of one contender, and what the machine did meanwhile. */
export class Rounds<T> {
  constructor(
    /** In the order of the rounds. */
    readonly values: readonly T[],
    /** Counters of the machine during these rounds only. */
    readonly times: MachineTimes,
  ) {}

  map<U>(of: (value: T) => U): Rounds<U> {
    return new Rounds(this.values.map(of), this.times);
  }

  /** Several values of each round. */
  flatMap<U>(of: (value: T) => readonly U[]): Rounds<U> {
    return new Rounds(this.values.flatMap(of), this.times);
  }

  /** One value of all rounds. */
  together<U>(of: (values: readonly T[]) => U): Rounds<U> {
    return new Rounds([of(this.values)], this.times);
  }
}

/** The rounds of several contenders as those of one. */
export function joined<T>(all: readonly Rounds<T>[]): Rounds<T> {
  const values = all.flatMap((rounds) => rounds.values);
  return new Rounds(values, totalTimes(all.map(({ times }) => times)));
}

/**
 * Runs each contender once in each round, one after the other, and in reverse order in every second round. So a machine that
 * becomes slower or faster affects all of them alike.
 */
export async function alternate<const C extends Readonly<Record<string, () => Promise<unknown>>>>(
  rounds: number,
  contenders: C,
): Promise<{ [K in keyof C]: Rounds<Awaited<ReturnType<C[K]>>> }> {
  const names = Object.keys(contenders);
  const measured = new Map(
    names.map((name) => [name, { values: [] as unknown[], times: [] as MachineTimes[] }]),
  );
  for (let round = 0; round < rounds; round++) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      tell(`  round ${round + 1} of ${rounds}: ${name}`);
      const before = await machineTimes();
      const { values, times } = measured.get(name)!;
      values.push(await patiently(contenders[name]!));
      times.push(await timesSince(before));
    }
  }
  const entries = [...measured].map(([name, { values, times }]) => [
    name,
    new Rounds(values, totalTimes(times)),
  ]);
  return Object.fromEntries(entries) as { [K in keyof C]: Rounds<Awaited<ReturnType<C[K]>>> };
}

/** One round of one contender. */
export async function once<T>(task: () => Promise<T>): Promise<Rounds<T>> {
  const before = await machineTimes();
  return new Rounds([await patiently(task)], await timesSince(before));
}

/** The same for one measurement of each of these contenders. */
export function alternateAll<Name extends string, T>(
  rounds: number,
  names: readonly Name[],
  measure: (name: Name) => Promise<T>,
): Promise<Readonly<Record<string, Rounds<T>>>> {
  const contenders = Object.fromEntries(names.map((name) => [name, () => measure(name)]));
  return alternate(rounds, contenders) as Promise<Readonly<Record<string, Rounds<T>>>>;
}
