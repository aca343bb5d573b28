import { type Clock, showInstant, type When } from 'nest-handlers/time';
import type { Seal } from '../seal/seal.js';
import type { JobRefText } from '../api/job.js';
import { type StoredTube, withoutPrefix } from '../api/tube.js';
import { formatRef } from '../copies/job-ref.js';
import { wrongValue } from '../errors.js';
import type { Ledger } from '../ledger/ledger.js';
import type { WaitingJob, WaitingJobs, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { checkBetween, checkObject } from '../producer/call-options.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import { parseWhen } from '../time/instant.js';
import type { Cluster } from '../cluster/cluster.js';
import { unwrap } from '../copies/formats/unwrap.js';
import { parseLocation, UNKNOWN_COPY } from '../copies/location.js';
import { withinLimit } from '../time/call-limit.js';

/** `waiting` for its time, `due` and not started, or `retrying` after a run that failed or was cut short. */
export type WaitingState = 'waiting' | 'due' | 'retrying';

/** A waiting job. */
export interface JobSummary {
  /** A ULID, or derived from tube and key. */
  readonly id: string;
  /** Only if the page was requested with `keys`. Absent if it has none, or none of its nodes has reported it. */
  readonly key?: string;
  /** Refers to this job. */
  readonly ref: JobRefText;
  /** Name without the prefix. */
  readonly tube: string;
  /** `due`: its time has come, and it hasn't started. `retrying`: it waits after a run that failed or was cut short. */
  readonly state: WaitingState;
  /** When it runs next. */
  readonly dueAt: Date;
  /** Number of started runs. */
  readonly attempt: number;
  /**
   * The last error it reported. Only of a job that waits for a retry, if the page was requested with `errors` and the option
   * `keepErrors` is on.
   */
  readonly error?: { readonly name: string; readonly message: string };
}

/** Selects a page of jobs. */
export interface JobFilter {
  /** @default any */
  readonly state?: WaitingState;
  /** Jobs due at this time or later. @default all */
  readonly from?: When;
  /** Jobs due before this time. @default all */
  readonly to?: When;
  /** `cursor` of the previous page. @default the first page */
  readonly cursor?: string;
  /** 1 to 1,000 jobs. @default 50 */
  readonly limit?: number;
  /** Whether to read the keys of the jobs, from a copy of each that has one, for at most a second. @default false */
  readonly keys?: boolean;
  /** Whether to read the last errors of jobs that wait for a retry, from the ledger. @default false */
  readonly errors?: boolean;
}

/** A page of jobs, by due time. */
export interface JobPage {
  /** May be fewer than `limit`, even none, although more follow: a call looks at 1,000 jobs at most. */
  readonly jobs: readonly JobSummary[];
  /** Cursor of the next page; absent on the last one. */
  readonly cursor?: string;
  /** Number of waiting jobs of the tube that can be listed. */
  readonly listed: number;
  /** Approximate number of waiting jobs, estimated from the nodes' counts of copies. Absent if no node answered. */
  readonly about?: number;
}

/** The jobs due in a span of time. */
export interface TimelineBucket {
  /** Start, inclusive. */
  readonly from: Date;
  /** End, exclusive. */
  readonly to: Date;
  /** Number of listed jobs due in it. */
  readonly jobs: number;
}

/** The buckets of a timeline: of equal length, or with edges of their own, such as the days of a calendar. */
export type TimelineOptions = EqualBuckets | EdgedBuckets;

/** Buckets of equal length. */
export interface EqualBuckets {
  /** Start of the first bucket. */
  readonly from: When;
  /** End of the last bucket. */
  readonly to: When;
  /** 1 to 200. @default 60 */
  readonly buckets?: number;
}

/** Consecutive buckets of any length. */
export interface EdgedBuckets {
  /** Start of each bucket, and end of the last one: 2 to 201 times in ascending order. */
  readonly edges: readonly When[];
}

const MAX_JOBS = 1_000;
const MAX_BUCKETS = 200;
/** Limit of one script. */
const LARGEST_PAGE = 100;

/** The listed jobs of a tube, and how it is named. */
interface WaitingSource {
  readonly waiting: WaitingJobs;
  readonly tube: StoredTube;
  readonly prefix: string;
  readonly seal: Seal | undefined;
  /** Ledger time in ms. */
  readonly now: number;
  /** Resolves with the keys of jobs by id. Never rejects. */
  readonly keysOf: (jobs: readonly WaitingJob[]) => Promise<ReadonlyMap<string, string>>;
  /** Resolves with the last errors of those that wait for a retry, by id. */
  readonly errorsOf: (jobs: readonly WaitingJob[]) => Promise<ReadonlyMap<string, JobError>>;
}

/** Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_LEDGER_DOWN`. */
export async function waitingPage(
  source: WaitingSource,
  filter: JobFilter | undefined,
): Promise<Omit<JobPage, 'about'>> {
  const { waiting, tube, now } = source;
  const { state, limit, cursor, keys, errors, bounds } = checkJobFilter(filter, now);
  let after = cursor === undefined ? undefined : readPosition(cursor);
  const found: WaitingJob[] = [];
  const { listed } = await waiting.counts(tube);
  let looked = 0;
  do {
    const size = Math.min(LARGEST_PAGE, limit - found.length);
    const page = await waiting.page(tube, { ...bounds, after, limit: size });
    for (const job of page.jobs) {
      if (state === undefined || stateOf(job, now) === state) found.push(job);
    }
    looked += size;
    after = page.next;
  } while (after && found.length < limit && looked < MAX_JOBS);
  const [keyOf, errorOf] = await Promise.all([
    keys ? source.keysOf(found) : undefined,
    errors ? source.errorsOf(found) : undefined,
  ]);
  const jobs = found.map((job) => {
    const [key, error] = [keyOf?.get(job.id), errorOf?.get(job.id)];
    return {
      ...summaryOf({ ...job, key }, source),
      ...(key !== undefined && { key }),
      ...(error && { error }),
    };
  });
  return { jobs, ...(after && { cursor: formatCursor(after.due, after.id) }), listed };
}

/** A filter of jobs, and the part of the list that has to be looked at. Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function checkJobFilter(filter: JobFilter | undefined, now: number) {
  const given = checkObject('the filter', filter, [
    'state',
    'from',
    'to',
    'cursor',
    'limit',
    'keys',
    'errors',
  ]);
  const { state, limit = 50, cursor, keys = false, errors = false } = given;
  for (const [name, value] of Object.entries({ keys, errors })) {
    if (typeof value !== 'boolean') throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, 'true or false');
  }
  checkBetween('limit', limit, 1, MAX_JOBS);
  const states: readonly unknown[] = [undefined, 'waiting', 'due', 'retrying'];
  if (!states.includes(state))
    throw wrongValue('DQ_BAD_OPTION', '`state`', state, "'waiting', 'due' or 'retrying'");
  const from = given.from === undefined ? -Infinity : parseWhen(given.from);
  const to = given.to === undefined ? Infinity : parseWhen(given.to);
  const least = state === 'waiting' ? Math.max(from, now) : from;
  const most = state === 'due' ? Math.min(to, now) : to;
  const bounds = { ...(least > -Infinity && { from: least }), ...(most < Infinity && { to: most }) };
  return { state, limit, cursor, keys, errors, bounds };
}

/** Returns the edges of the buckets, in ms since 1970. Throws `DQ_BAD_OPTION`, `DQ_BAD_TIME`. */
export function checkTimeline(options: TimelineOptions): readonly number[] {
  if (typeof options === 'object' && options !== null && 'edges' in options) return checkEdges(options);
  const given = checkObject('the timeline', options, ['from', 'to', 'buckets']);
  const { buckets = 60 } = given;
  checkBetween('buckets', buckets, 1, MAX_BUCKETS);
  const [from, to] = [parseWhen(given.from), parseWhen(given.to)];
  if (to <= from) throw wrongValue('DQ_BAD_OPTION', '`to`', given.to, 'a time after `from`');
  return Array.from({ length: buckets + 1 }, (_, i) => from + ((to - from) * i) / buckets);
}

function checkEdges(options: EdgedBuckets): readonly number[] {
  const { edges } = checkObject('the timeline', options, ['edges']);
  if (!Array.isArray(edges) || edges.length < 2 || edges.length > MAX_BUCKETS + 1)
    throw wrongValue('DQ_BAD_OPTION', '`edges`', edges, `an array of 2 to ${MAX_BUCKETS + 1} times`);
  const times = edges.map((edge) => parseWhen(edge));
  const early = times.findIndex((time, i) => i > 0 && time <= times[i - 1]!);
  if (early < 0) return times;
  const before = `a time after the previous one, ${showInstant(times[early - 1]!)}`;
  throw wrongValue('DQ_BAD_OPTION', `\`edges[${early}]\``, showInstant(times[early]!), before);
}

/** Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_LEDGER_DOWN`. */
export async function timelineOf(
  { waiting, tube }: Pick<WaitingSource, 'waiting' | 'tube'>,
  options: TimelineOptions,
): Promise<TimelineBucket[]> {
  const times = checkTimeline(options);
  const before = await waiting.dueBefore(tube, times);
  return times.slice(1).map((end, i) => ({
    from: new Date(times[i]!),
    to: new Date(end),
    jobs: before[i + 1]! - before[i]!,
  }));
}

export function summaryOf(
  job: WaitingJob & { readonly key?: string | undefined },
  { tube, prefix, seal, now }: Omit<WaitingSource, 'waiting' | 'keysOf' | 'errorsOf'>,
): JobSummary {
  const { id, key, born, due, places, attempt } = job;
  return {
    id,
    ref: formatRef({ tube, id, key, born, due, copies: places.length, places }, seal),
    tube: withoutPrefix(tube, prefix),
    state: stateOf(job, now),
    dueAt: new Date(due),
    attempt,
  };
}

export function stateOf({ attempt, due }: WaitingJob, now: number): WaitingState {
  return attempt > 0 ? 'retrying' : due < now ? 'due' : 'waiting';
}

export function readPosition(cursor: string): WaitingPosition {
  const [due, id] = parseCursor(cursor, 'the previous page', ['number', 'string']);
  return { due, id };
}

/** Time limit for all jobs of a page. */
const LIMIT_MS = 1_000;
/** Copies read concurrently, so that adds and runs don't wait behind many. */
const AT_ONCE = 10;

/**
 * Resolves with the keys of jobs by id. The ledger doesn't have them, so a copy of each is read. Jobs whose node doesn't answer
 * in time are left out.
 */
export async function keysOf(
  { cluster, clock }: { readonly cluster: Cluster; readonly clock: Clock },
  tube: StoredTube,
  jobs: readonly WaitingJob[],
): Promise<ReadonlyMap<string, string>> {
  const keys = new Map<string, string>();
  // A job without a key was born without a generation.
  const left = jobs.filter(({ born, places }) => born > 0 && places.length > 0);
  let isOver = false;
  const read = async () => {
    for (let job = left.pop(); job && !isOver; job = left.pop()) {
      const key = await keyOf(cluster, tube, job);
      if (key !== undefined) keys.set(job.id, key);
    }
  };
  const all = Promise.all(Array.from({ length: AT_ONCE }, read));
  await withinLimit(clock, LIMIT_MS, all).catch(() => undefined); // the rest is left out
  isOver = true;
  return keys;
}

type JobError = NonNullable<JobSummary['error']>;

/**
 * Resolves with the last errors of the jobs that wait for a retry, by id: one call per hundred of them, all at once. Rejects with `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
 */
export async function errorsOf(
  ledger: Ledger,
  tube: StoredTube,
  jobs: readonly WaitingJob[],
): Promise<ReadonlyMap<string, JobError>> {
  const ids = jobs.filter(({ attempt }) => attempt > 0).map(({ id }) => id);
  const errors = new Map<string, JobError>();
  const ask = async (some: readonly string[]) => {
    for (const [i, trace] of (await ledger.tube(tube).ask('trace', some)).entries()) {
      const last = trace?.failures?.at(-1);
      if (last) errors.set(some[i]!, { name: last.name, message: last.message });
    }
  };
  const calls = Array.from({ length: Math.ceil(ids.length / LARGEST_PAGE) }, (_, i) =>
    ask(ids.slice(i * LARGEST_PAGE, (i + 1) * LARGEST_PAGE)),
  );
  await Promise.all(calls);
  return errors;
}

/** The key, from the first of its copies that has it. */
export async function keyOf(
  cluster: Cluster,
  tube: StoredTube,
  { id, places }: Pick<WaitingJob, 'id' | 'places'>,
): Promise<string | undefined> {
  for (const { location } of places) {
    if (parseLocation(location)?.copyId === UNKNOWN_COPY) continue; // its put had no answer
    const body = await cluster.peek(location);
    const envelope = body && unwrap(body, tube, cluster.settings.seal);
    if (typeof envelope === 'object' && envelope.header.id === id) return envelope.header.key;
  }
  return undefined;
}
