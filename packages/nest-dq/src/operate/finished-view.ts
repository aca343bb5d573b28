import type { When } from 'nest-handlers/time';
import type { JobView } from '../api/job.js';
import { checkKey } from '../api/job-options.js';
import { storedTube, withoutPrefix, type StoredTube, type Tube } from '../api/tube.js';
import { isJobId } from '../copies/header.js';
import { keyedId } from '../copies/job-ref.js';
import { DqError, wrongValue } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { FinishedEntry, FinishedPosition } from '../ledger/requests.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import { progressView } from '../producer/job-finder.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import { parseWhen } from '../time/instant.js';

/** A completed job that is kept: see the option `keepDone`. */
export interface FinishedJob {
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Absent if it has none, or the cluster encrypts its jobs. */
  readonly key?: string;
  /** Name without the prefix. */
  readonly tube: string;
  /** By the ledger's clock. Of a key that was used several times, the last end. */
  readonly endedAt: Date;
  /** Time that its handler took, in ms. */
  readonly took: number;
  /** The process that ran it, as `host:pid`. */
  readonly process: string;
  /** Number of started runs, the last of which succeeded. */
  readonly attempt: number;
  /** Return value of its handler. Absent if there was none, or it isn't kept. */
  readonly result?: unknown;
  /** Why its result isn't kept: its JSON has more than 1,000 characters, or it has none. */
  readonly resultLeftOut?: 'too long' | 'not JSON';
  /** The last progress its handler reported, as in `JobView`. Absent if it reported none. */
  readonly progress?: NonNullable<JobView['progress']>;
}

/** Selects a page of finished jobs. */
export interface FinishedFilter {
  /** Jobs that ended at this time or later. @default all */
  readonly from?: When;
  /** Jobs that ended before this time. @default all */
  readonly to?: When;
  /** Only the job with this key. @default all */
  readonly key?: string;
  /** Only the job with this id. @default all */
  readonly id?: string;
  /** `cursor` of the previous page. @default the first page */
  readonly cursor?: string;
  /** 1 to 1,000 jobs. @default 50 */
  readonly limit?: number;
}

/** A page of finished jobs, newest first. */
export interface FinishedPage {
  /** May be fewer than `limit`, even none, although more follow. */
  readonly jobs: readonly FinishedJob[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
}

interface FinishedSource {
  readonly ledger: Pick<Ledger, 'tube'>;
  readonly settings: { readonly prefix: string };
}

const MAX_JOBS = 1_000;
/** Limit of one script. */
const LARGEST_PAGE = 250;
const NAMES = ['from', 'to', 'key', 'id', 'cursor', 'limit'] as const;

/** Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`. */
export async function finishedPage(
  { ledger, settings }: FinishedSource,
  tube: string | Tube,
  filter: FinishedFilter | undefined,
): Promise<FinishedPage> {
  const storedAs = storedTube(tube, settings.prefix);
  const { cursor, limit = 50, ...given } = checkObject('the filter', filter, NAMES);
  checkBetween('limit', limit, 1, MAX_JOBS);
  const from = given.from === undefined ? undefined : parseWhen(given.from);
  const to = given.to === undefined ? undefined : parseWhen(given.to);
  const view = (entry: FinishedEntry) => finishedView(entry, storedAs, settings.prefix);
  const id = namedId(storedAs, given);
  if (id !== undefined) {
    const [found] = await ledger.tube(storedAs).ask('ended', [id]);
    const isMeant = found && found.ended >= (from ?? 0) && found.ended < (to ?? Infinity);
    return { jobs: isMeant ? [view(found)] : [] };
  }
  const bounds = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
  let after = cursor === undefined ? undefined : readPosition(cursor);
  const jobs: FinishedEntry[] = [];
  let left = limit;
  do {
    const page = { ...bounds, after, limit: Math.min(left, LARGEST_PAGE) };
    const [list] = await ledger.tube(storedAs).ask('finished', [page]);
    jobs.push(...list!.jobs);
    left -= page.limit;
    after = list!.last;
  } while (after && left > 0);
  return { jobs: jobs.map(view), ...(after && { cursor: formatCursor(after.ended, after.id) }) };
}

export function finishedView(
  { id, ended, key, took, process, attempt, result, leftOut, progress }: FinishedEntry,
  tube: StoredTube,
  prefix: string,
): FinishedJob {
  return {
    id,
    ...(key !== undefined && { key }),
    tube: withoutPrefix(tube, prefix),
    endedAt: new Date(ended),
    took,
    process,
    attempt,
    ...(result !== undefined && { result: JSON.parse(result) as unknown }),
    ...(leftOut !== undefined && { resultLeftOut: leftOut }),
    ...progressView({ progress }),
  };
}

/** Throws `DQ_BAD_OPTION`. */
function namedId(tube: StoredTube, { key, id }: Pick<FinishedFilter, 'key' | 'id'>): string | undefined {
  if (key !== undefined && id !== undefined)
    throw new DqError('DQ_BAD_OPTION', 'the filter has `key` and `id`: expected one of them');
  if (key !== undefined) return keyedId(tube, checkKey(key, '`key`', 'DQ_BAD_OPTION'));
  if (id === undefined || isJobId(id)) return id;
  throw wrongValue('DQ_BAD_OPTION', '`id`', id, 'the `id` of a job');
}

function readPosition(cursor: string): FinishedPosition {
  const [ended, id] = parseCursor(cursor, 'the previous page', ['number', 'string']);
  return { ended, id };
}
