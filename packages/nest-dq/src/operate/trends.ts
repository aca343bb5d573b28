/** Looks older than this say nothing about the present rate. */
const WINDOW_MS = 60_000;
/** Between the first and the last look. */
const LEAST_MS = 4_000;
/** A change up to this is none: counts of copies may be off by one while a job moves. */
const TOLERANCE = 1;

/** How a number moves. */
export interface Trend {
  readonly trend?: 'growing' | 'shrinking' | 'steady';
  /** Time until it is 0 at this rate, in ms. Absent if it doesn't shrink. */
  readonly caughtUpIn?: number;
}

interface Look {
  readonly at: number;
  readonly value: number;
}

/** How numbers have moved in the last minute, by name. */
export class Trends {
  private looks = new Map<string, readonly Look[]>();

  /** Records all numbers of one look, and returns their trends. A name that is missing once is forgotten. */
  look(at: number, values: ReadonlyMap<string, number>): Map<string, Trend> {
    const looks = new Map<string, readonly Look[]>();
    for (const [name, value] of values) {
      const before = (this.looks.get(name) ?? []).filter((each) => at - each.at <= WINDOW_MS);
      looks.set(name, [...before, { at, value }]);
    }
    this.looks = looks;
    return new Map(Array.from(looks, ([name, each]) => [name, trendOf(each)]));
  }
}

function trendOf(looks: readonly Look[]): Trend {
  const [first, last] = [looks[0]!, looks.at(-1)!];
  const span = last.at - first.at;
  if (span < LEAST_MS) return {};
  const change = last.value - first.value;
  if (Math.abs(change) <= TOLERANCE) return { trend: 'steady' };
  if (change > 0) return { trend: 'growing' };
  return { trend: 'shrinking', caughtUpIn: Math.round((last.value * span) / -change) };
}
