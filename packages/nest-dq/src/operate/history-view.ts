import { showInstant, type When } from 'nest-handlers/time';
import { tubeName, type Tube } from '../api/tube.js';
import { wrongValue } from '../errors.js';
import { FIRST_CLASS, LATENESS_CLASSES, PLACES } from '../events/tally.js';
import { ALL_TUBES, HOUR, hourOf, REMEMBERED, type History } from '../ledger/history.js';
import { checkObject } from '../producer/call-options.js';
import { parseWhen } from '../time/instant.js';

/** Which part of the history is asked for. */
export interface HistoryRange {
  /** @default all tubes together */
  tube?: string | Tube;
  /** The minute that has this instant is the first. What is older than two days is forgotten. */
  from: When;
  /** The minute that has this instant is the last. */
  to: When;
}

/** What happened in one minute, in all processes. */
export interface HistoryBucket {
  /** When the minute began. */
  readonly at: Date;
  /** Jobs that were added or replaced. */
  readonly scheduled: number;
  /** Runs that began. */
  readonly started: number;
  /** Runs that went well. */
  readonly completed: number;
  /** Runs that failed. */
  readonly failed: number;
  /** Jobs that became dead letters. */
  readonly dead: number;
  /** The same by lateness: runs that began at most `upTo` milliseconds late, and later than the entry before. The last is Infinity. */
  readonly byLateness: readonly { readonly upTo: number; readonly started: number }[];
}

/** The minutes of the range in which anything happened. `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`. */
export async function bucketsOf(
  history: History,
  prefix: string,
  given: HistoryRange,
): Promise<HistoryBucket[]> {
  const { tube, from, to } = checkObject('the range', given, ['tube', 'from', 'to']);
  const name = tube === undefined ? ALL_TUBES : tubeName(tube, prefix);
  const [first, last] = [parseWhen(from as When), parseWhen(to as When)];
  if (first > last)
    throw wrongValue(
      'DQ_BAD_OPTION',
      '`from`',
      new Date(first),
      `${showInstant(last)} or earlier, as \`to\` is that`,
    );
  const now = history.now();
  const buckets: HistoryBucket[] = [];
  const end = Math.floor(Math.min(last, now) / 60_000);
  let minute = Math.floor(Math.max(first, now - REMEMBERED) / 60_000);
  while (minute <= end) {
    const next = (hourOf(minute) + 1) * HOUR;
    for (const each of await history.read(name, minute, Math.min(end, next - 1))) {
      buckets.push(bucketOf(each.minute, each.counts));
    }
    minute = next;
  }
  return buckets;
}

function bucketOf(minute: number, counts: readonly number[]): HistoryBucket {
  const count = (place: number) => counts[place] ?? 0;
  const byLateness = [...LATENESS_CLASSES, Infinity].map((upTo, i) => ({
    upTo,
    started: count(FIRST_CLASS + i),
  }));
  return {
    at: new Date(minute * 60_000),
    scheduled: count(PLACES.scheduled),
    started: byLateness.reduce((sum, { started }) => sum + started, 0),
    completed: count(PLACES.completed),
    failed: count(PLACES.failed),
    dead: count(PLACES.dead),
    byLateness,
  };
}
