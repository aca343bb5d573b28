import { checkOptions, wholeNumber } from '../api/checks.js';
import { wrongValue } from '../errors.js';
import type { KqLetterListOptions, KqLetterPage, KqLetterSummary } from './kq-dead-letters.js';
import type { Budget, LetterPartition } from './letter-partition.js';
import { letterMatcher } from './letter-filter.js';

const NAMES: readonly string[] = [
  'filter',
  'limit',
  'cursor',
] satisfies readonly (keyof KqLetterListOptions)[];
/** Offsets that are read at once, at most. */
export const MOST_AT_ONCE = 1_000;
/** What a page may read, beside one part of each partition. */
const MOST_MESSAGES = 50_000;
const MOST_BYTES = 64 * 1_048_576;

type Positions = ReadonlyMap<number, bigint | undefined>;

export interface LetterQuery {
  readonly matches: (letter: KqLetterSummary) => boolean;
  readonly limit: number;
  /** By partition, the offset below which the page begins; undefined: its end. Those that are not in it are through. */
  readonly positions: Positions | undefined;
  /** The filter's earliest time. */
  readonly since: Date | undefined;
}

/** `KQ_BAD_OPTION`, `KQ_BAD_TOPIC`. */
export function readQuery(options: KqLetterListOptions): LetterQuery {
  checkOptions('KQ_BAD_OPTION', '`list`', options, NAMES);
  const { filter = {}, limit = 50, cursor } = options;
  return {
    matches: letterMatcher(filter),
    limit: wholeNumber('KQ_BAD_OPTION', '`limit`', limit, 1, 1_000),
    positions: cursor === undefined ? undefined : readCursor(cursor),
    since: filter.from,
  };
}

/**
 * Merges partitions by time, the newest letters first. `floors`: offsets below which nothing can match. `leaderless`: partitions
 * that cannot be read, whose places the cursor keeps.
 */
export async function pageOf(
  partitions: readonly LetterPartition[],
  query: LetterQuery,
  floors: ReadonlyMap<number, bigint>,
  leaderless: readonly number[],
): Promise<KqLetterPage> {
  const { limit, positions } = query;
  const budget: Budget = { messages: MOST_MESSAGES, bytes: MOST_BYTES };
  const tails = partitions.map((partition) => {
    const floor = floors.get(partition.partition) ?? partition.first;
    const isThrough = positions?.has(partition.partition) === false;
    const start = isThrough ? floor : (positions?.get(partition.partition) ?? partition.end);
    return new Tail(partition, query, floor, start < partition.end ? start : partition.end);
  });
  const missing = leaderless.filter((partition) => positions?.has(partition) !== false);
  const letters: KqLetterSummary[] = [];
  while (letters.length < limit) {
    await Promise.all(tails.map((tail) => tail.fill(budget)));
    // Of a partition without a letter here it is not known how new its next one is.
    if (tails.some((tail) => tail.isBehind)) break;
    const newest = tails.reduce<Tail | undefined>(newer, undefined);
    if (!newest) break;
    letters.push(newest.take());
  }
  const left = tails.filter((tail) => !tail.hasEnded);
  const places: Positions = new Map([
    ...left.map(({ number, position }) => [number, position] as const),
    ...missing.map((partition) => [partition, positions?.get(partition)] as const),
  ]);
  return {
    letters,
    ...(left.length > 0 && { cursor: writeCursor(places) }),
    ...(missing.length > 0 && { leaderless: missing }),
  };
}

/** A partition as far as the page has come. */
class Tail {
  private readonly found: KqLetterSummary[] = [];
  private count: number;

  constructor(
    private readonly partition: LetterPartition,
    private readonly query: LetterQuery,
    private readonly floor: bigint,
    private below: bigint,
  ) {
    this.count = Math.min(query.limit, MOST_AT_ONCE);
  }

  get number(): number {
    return this.partition.partition;
  }

  /** The next letter of the list. */
  get head(): KqLetterSummary | undefined {
    return this.found[0];
  }

  /** It has no letter here, and was not read to its first one. */
  get isBehind(): boolean {
    return this.head === undefined && this.below > this.floor;
  }

  get hasEnded(): boolean {
    return this.head === undefined && this.below <= this.floor;
  }

  /** Where the next page begins. */
  get position(): bigint {
    return this.head ? BigInt(this.head.offset) + 1n : this.below;
  }

  async fill(budget: Budget): Promise<void> {
    for (let first = true; this.isBehind; first = false) {
      if (!first && (budget.messages <= 0 || budget.bytes <= 0)) return;
      const { letters, position } = await this.partition.below(this.below, this.count, budget);
      this.below = position;
      this.found.push(...letters.filter(this.query.matches));
      this.count = Math.min(2 * this.count, MOST_AT_ONCE);
    }
  }

  take(): KqLetterSummary {
    return this.found.shift()!;
  }
}

function newer(best: Tail | undefined, tail: Tail): Tail | undefined {
  if (!tail.head) return best;
  return !best?.head || tail.head.diedAt > best.head.diedAt ? tail : best;
}

function writeCursor(positions: Positions): string {
  const places = [...positions].map(([partition, offset]) => [partition, offset?.toString() ?? null]);
  return Buffer.from(JSON.stringify(Object.fromEntries(places))).toString('base64url');
}

function readCursor(cursor: unknown): Positions {
  try {
    const places = JSON.parse(Buffer.from(cursor as string, 'base64url').toString()) as object;
    return new Map(
      Object.entries(places).map(([partition, offset]) => [
        Number(partition),
        offset === null ? undefined : BigInt(offset as string),
      ]),
    );
  } catch {
    throw wrongValue('KQ_BAD_OPTION', '`cursor`', cursor, 'that of the page before');
  }
}
