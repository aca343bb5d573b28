// ◆ marks a rule of docs/internals/delivery.md.
import { type ActProgress, DqError, type DqErrorCode, factOf, toError } from '../errors.js';
import type { JobView, PatienceOptions, RescheduleResult } from '../api/job.js';
import { checkBetween, checkBoolean, checkObject } from '../producer/call-options.js';
import type { Act, ActOptions } from './act.js';
import { type StoredTube, withoutPrefix } from '../api/tube.js';
import { formatRef, type RefContent } from '../copies/job-ref.js';
import type { WaitingJob } from '../ledger/waiting/waiting-jobs.js';
import { reschedule } from '../producer/job-mover.js';
import type { ProducerContext } from '../producer/producer-context.js';
import type { PatientCall } from '../producer/retries.js';
import { keysOf } from './waiting-view.js';

/** Options of every bulk act. */
export interface BulkOptions extends PatienceOptions, ActOptions {
  /** Only counts and shows some examples, without changing anything. @default false */
  dryRun?: boolean;
  /**
   * `cursor` of the progress at which the same act with the same filter ended: continues there. What that act changed after this
   * place isn't changed again. @default from the beginning
   */
  cursor?: string;
}

/** Progress of a bulk act: reported before it changes anything, and after each page it reads. */
export interface BulkProgress<Example> extends ActProgress {
  /** The first ten failures. */
  readonly failures: readonly { readonly id: string; readonly error: DqError }[];
  /** In a dry run, the first ten items that would be changed; otherwise empty. */
  readonly examples: readonly Example[];
  /** In a dry run that has found some, the first time at which one is due; of a dead letter, at which it died. */
  readonly earliest?: Date;
  /** The last such time. */
  readonly latest?: Date;
  /** First and last new time of a spread. Absent if no job matches. */
  readonly spread?: { readonly from: Date; readonly to: Date };
}

/** A job that `rescheduleMany` would move. */
export interface MoveExample extends JobView {
  /** Its new time. */
  readonly movesTo: Date;
}

/** The outcome for one of many items. */
export type Changed = 'done' | 'skipped' | DqError;

/** A page of items read by an act; its filter selects some of them. */
export interface BulkPage<Item> {
  readonly items: readonly Item[];
  /** Where the page starts. */
  readonly cursor: string;
  /** Where the next page continues; undefined on the last one. */
  readonly next: string | undefined;
}

/** A bulk act: how it finds its items, and what it does to them. */
export interface Bulk<Item extends { readonly id: string }, Example> {
  read(cursor: string | undefined): Promise<BulkPage<Item>>;
  matches(item: Item): boolean;
  /** When it is due, or died, in ms. */
  timeOf(item: Item): number;
  /** The cursor of a page that starts after this item. */
  cursorBehind(item: Item): string;
  /**
   * Resolves when all changes have ended, and reports each attempted item to `ended`. Rejects with an error that ends the act,
   * since continuing would be pointless.
   */
  change(items: readonly Item[], ended: (item: Item, how: Changed) => void): Promise<void>;
  show(item: Item): Promise<Example>;
  /** More fields of its progress. */
  told?(): Pick<BulkProgress<Example>, 'spread'>;
}

/** The limit common to all filters. */
export interface BulkLimit {
  /** Maximum number of items changed, including skipped and failed ones. @default no limit */
  limit?: number;
}

/** Number of items read, and changed, together. */
export const PAGE = 128;
/** Each move stores copies on nodes. */
export const MOVES_AT_ONCE = 32;
const MAX_SHOWN = 10;

/**
 * Runs an act page by page, and yields its progress before it changes anything and after each page; nothing is in flight then. So
 * whoever stores the cursors can always continue, even if the process dies before the first page is done ◆. It ends when the
 * consumer breaks, or with an error that carries the progress.
 * @param act Undefined for a dry run.
 */
export async function* inBulk<Item extends { readonly id: string }, Example>(
  bulk: Bulk<Item, Example>,
  { cursor: begin, limit = Infinity }: { readonly cursor?: string | undefined } & BulkLimit,
  act: Act | undefined,
): AsyncGenerator<BulkProgress<Example>, void, undefined> {
  const counts = { done: 0, failed: 0, skipped: 0 };
  const failures: { readonly id: string; readonly error: DqError }[] = [];
  const examples: Example[] = [];
  let cursor = begin;
  let begun = false;
  let failure: Error | undefined;
  const progress = () => ({ ...counts, ...(cursor === undefined ? {} : { cursor }) });
  let [earliest, latest] = [Infinity, -Infinity];
  const span = () => (latest < earliest ? {} : { earliest: new Date(earliest), latest: new Date(latest) });
  const lists = () => ({ failures: [...failures], examples: [...examples] });
  const told = () => ({ ...progress(), ...lists(), ...span(), ...bulk.told?.() });
  const note = ({ id }: Item, how: Changed) => {
    counts[typeof how === 'string' ? how : 'failed']++;
    if (typeof how !== 'string' && failures.length < MAX_SHOWN) failures.push({ id, error: how });
  };
  let left = limit;
  try {
    do {
      const page = await bulk.read(cursor);
      cursor = page.cursor;
      const found = page.items.filter((item) => bulk.matches(item));
      const meant = found.slice(0, left);
      if (act) {
        if (begin === undefined && !begun && meant.length > 0) yield told();
        begun ||= meant.length > 0;
        await bulk.change(meant, note);
      } else {
        const shown = meant.slice(0, MAX_SHOWN - examples.length);
        examples.push(...(await Promise.all(shown.map((item) => bulk.show(item)))));
        for (const item of meant) {
          note(item, 'done');
          earliest = Math.min(earliest, bulk.timeOf(item));
          latest = Math.max(latest, bulk.timeOf(item));
        }
      }
      left -= meant.length;
      cursor = meant.length < found.length ? bulk.cursorBehind(meant.at(-1)!) : page.next;
      yield told();
    } while (cursor !== undefined && left > 0);
  } catch (thrown) {
    throw (failure = endedBy(thrown, progress()));
  } finally {
    act?.ended(counts.done, failure);
  }
}

/** An error that isn't ours stays as it is. */
function endedBy(thrown: unknown, progress: ActProgress): Error {
  if (!(thrown instanceof DqError)) return toError(thrown);
  const { done, failed, skipped, cursor } = progress;
  const goOn = cursor === undefined ? '' : ', and can resume from `progress.cursor`';
  const ended = `the act ended after ${done} done, ${failed} failed and ${skipped} skipped${goOn}: `;
  const hasBegun = cursor !== undefined || done + failed + skipped > 0;
  const message = `${hasBegun ? ended : ''}${factOf(thrown)}`;
  return new DqError(thrown.code, message, {
    cause: thrown,
    indeterminate: thrown.indeterminate,
    progress,
    ...(thrown.nodes && { nodes: thrown.nodes }),
  });
}

/** Failures of a single item: the others may still succeed. */
const OF_ONE: ReadonlySet<DqErrorCode> = new Set([
  'DQ_UNCONFIRMED',
  'DQ_NO_COPY',
  'DQ_BAD_SEAL',
  'DQ_BAD_PAYLOAD',
  'DQ_CONFLICT',
  'DQ_TOO_FAR',
]);

/** Returns an error as the outcome of one item. Throws an error that concerns all. */
export function ofOne(error: unknown): DqError {
  if (error instanceof DqError && OF_ONE.has(error.code)) return error;
  throw error;
}

/**
 * Calls `call` for each item, at most `most` at a time. After the first failure no more are started; when all started ones have
 * ended, it rejects with that failure.
 */
export async function someAtOnce<Item>(
  items: readonly Item[],
  most: number,
  call: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const thrown: unknown[] = [];
  const work = async () => {
    for (const item of rest) {
      try {
        await call(item);
      } catch (error) {
        thrown.push(error);
      }
      if (thrown.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: most }, work));
  if (thrown.length > 0) throw thrown[0];
}

/** Checks the options common to all bulk acts. Throws `DQ_BAD_OPTION`. */
export function checkBulk<T extends BulkOptions>(
  options: T | undefined,
  more: readonly (keyof T & string)[] = [],
): T {
  const checked = checkObject('the options', options, ['by', 'cursor', 'dryRun', 'patience', ...more]);
  if (checked.dryRun !== undefined) checkBoolean('dryRun', checked.dryRun);
  return checked;
}

/** Throws `DQ_BAD_OPTION`. */
export function checkLimit(limit: unknown): void {
  if (limit !== undefined) checkBetween('limit', limit, 1, Number.MAX_SAFE_INTEGER);
}

/** The content of a receipt for a listed job. */
export function targetOf(tube: StoredTube, { id, born, due, places }: WaitingJob): RefContent {
  return { tube, id, born, due, copies: places.length, places };
}

/** Shows a listed job, with its key, from a copy that answers within a second. */
export async function viewListed(
  { parts }: ProducerContext,
  tube: StoredTube,
  job: WaitingJob,
): Promise<JobView> {
  const { id, due, attempt } = job;
  const key = (await keysOf(parts, tube, [job])).get(id);
  return {
    state: stateOf(attempt),
    id,
    ref: formatRef(targetOf(tube, job), parts.cluster.settings.seal),
    tube: withoutPrefix(tube, parts.settings.prefix),
    ...(key !== undefined && { key }),
    dueAt: new Date(due),
    attempt,
  };
}

/** The state of a waiting job. */
export function stateOf(attempt: number): 'waiting' | 'retrying' {
  return attempt > 0 ? 'retrying' : 'waiting';
}

/**
 * Moves a listed job, unless others have moved it since it was read: then the result is `unknown`. An error that concerns this
 * job alone is also a result, returned without retries, since others must not wait for it.
 * @param dueOf Computes the new time on each attempt; may throw.
 */
export function moveListed(
  context: ProducerContext,
  call: PatientCall,
  tube: StoredTube,
  job: WaitingJob,
  dueOf: () => number,
): Promise<RescheduleResult | DqError> {
  const until = context.parts.clock.now() + call.patience;
  return context.retries.run(call, async () => {
    try {
      const change = { due: dueOf(), until, only: job.generation, thorough: true };
      return await reschedule(context, targetOf(tube, job), change);
    } catch (error) {
      return ofOne(error);
    }
  });
}
