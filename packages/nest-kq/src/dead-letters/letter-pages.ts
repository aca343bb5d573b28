import { checkOptions, wholeNumber } from '../api/checks.js';
import { wrongValue } from '../errors.js';
import type { KqDeadLetterListOptions, KqDeadLetterPage, KqDeadLetterSummary } from './kq-dead-letters.js';
import type { Budget, LetterPartition } from './letter-partition.js';
import { letterMatcher } from './letter-filter.js';

const NAMES: readonly string[] = [
  'filter',
  'limit',
  'cursor',
] satisfies readonly (keyof KqDeadLetterListOptions)[];
/** Max offsets of one read. */
export const MAX_AT_ONCE = 1_000;
/** Max read by a page, in addition to one chunk per partition. */
const MAX_MESSAGES = 50_000;
const MAX_BYTES = 64 * 1_048_576;

type Positions = ReadonlyMap<number, bigint | undefined>;

export interface LetterQuery {
  readonly matches: (letter: KqDeadLetterSummary) => boolean;
  readonly limit: number;
  /** By partition, the offset below which the page starts; undefined for the end. Missing partitions are finished. */
  readonly positions: Positions | undefined;
  /** Earliest time of the filter. */
  readonly since: Date | undefined;
}

/** Checks the options of `list`; throws `KQ_BAD_OPTION` or `KQ_BAD_TOPIC`. */
export function readQuery(options: KqDeadLetterListOptions): LetterQuery {
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
 * Merges partitions by time, newest letters first. `floors`: offsets below which nothing can match. `leaderless`: unreadable
 * partitions, whose positions the cursor keeps.
 */
export async function pageOf(
  partitions: readonly LetterPartition[],
  query: LetterQuery,
  floors: ReadonlyMap<number, bigint>,
  leaderless: readonly number[],
): Promise<KqDeadLetterPage> {
  const { limit, positions } = query;
  const budget: Budget = { messages: MAX_MESSAGES, bytes: MAX_BYTES };
  const tails = partitions.map((partition) => {
    const floor = floors.get(partition.partition) ?? partition.first;
    const isThrough = positions?.has(partition.partition) === false;
    const start = isThrough ? floor : (positions?.get(partition.partition) ?? partition.end);
    return new Tail(partition, query, floor, start < partition.end ? start : partition.end);
  });
  const missing = leaderless.filter((partition) => positions?.has(partition) !== false);
  const letters: KqDeadLetterSummary[] = [];
  while (letters.length < limit) {
    await Promise.all(tails.map((tail) => tail.fill(budget)));
    // For a partition with no letter read yet, the age of its next one is unknown.
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

/** A partition, as far as the page has read it. */
class Tail {
  private readonly found: KqDeadLetterSummary[] = [];
  private count: number;

  constructor(
    private readonly partition: LetterPartition,
    private readonly query: LetterQuery,
    private readonly floor: bigint,
    private below: bigint,
  ) {
    this.count = Math.min(query.limit, MAX_AT_ONCE);
  }

  get number(): number {
    return this.partition.partition;
  }

  /** The next letter of the list. */
  get head(): KqDeadLetterSummary | undefined {
    return this.found[0];
  }

  /** Whether it has no letter buffered, but isn't fully read either. */
  get isBehind(): boolean {
    return this.head === undefined && this.below > this.floor;
  }

  get hasEnded(): boolean {
    return this.head === undefined && this.below <= this.floor;
  }

  /** The start of the next page. */
  get position(): bigint {
    return this.head ? BigInt(this.head.offset) + 1n : this.below;
  }

  async fill(budget: Budget): Promise<void> {
    for (let first = true; this.isBehind; first = false) {
      if (!first && (budget.messages <= 0 || budget.bytes <= 0)) return;
      const { letters, position } = await this.partition.below(this.below, this.count, budget);
      this.below = position;
      this.found.push(...letters.filter(this.query.matches));
      this.count = Math.min(2 * this.count, MAX_AT_ONCE);
    }
  }

  take(): KqDeadLetterSummary {
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
    throw wrongValue('KQ_BAD_OPTION', '`cursor`', cursor, 'the cursor of the previous page');
  }
}
