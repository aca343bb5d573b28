import { storedTube, type StoredTube, type Tube } from '../api/tube.js';
import type { WaitingJob, WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { formatCursor } from '../producer/cursor.js';
import { someAtOnce } from './bulk.js';
import { namesOfTubes, type TubeSources } from './tube-view.js';
import {
  checkJobFilter,
  errorsOf,
  type JobFilter,
  type JobPage,
  keysOf,
  readPosition,
  stateOf,
  summaryOf,
} from './waiting-view.js';
import { type TubeJob, WaitingWalk } from './waiting-walk.js';

interface JobsSources extends TubeSources {
  readonly waiting: WaitingJobs;
}

/** Query of a page of waiting jobs. */
interface JobsPageQuery {
  readonly filter: JobFilter;
  /** @default all tubes, at most 1,000 */
  readonly tube?: string | Tube | undefined;
  /** Start of the key, or of the id. @default any */
  readonly prefix?: string | undefined;
}

/** A page of the waiting jobs of several tubes. */
export interface JobsPage extends Omit<JobPage, 'about'> {
  /** Number of jobs looked at for this page. */
  readonly looked: number;
}

/** Jobs looked at by one call, and how many of them at once. */
const MAX_LOOKED = 1_000;
const BATCH = 100;
/** Time in ms after which no more keys are read. */
const LIMIT_MS = 400;
/** Max further pages of the tubes. */
const MAX_PAGES = 100;
const SMALLEST_PAGE = 10;
/** Tubes asked concurrently. */
const AT_ONCE = 50;

/**
 * Resolves with waiting jobs of one tube, or of all, by due time. Keys are only in the copies, so with a prefix it reads a copy of
 * each job that has one: of up to 1,000 jobs, and of no other hundred after 400 ms; `cursor` continues. Rejects with
 * `DQ_BAD_OPTION`, `DQ_BAD_TIME`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
 */
export async function jobsPage(
  sources: JobsSources,
  { filter, tube, prefix }: JobsPageQuery,
): Promise<JobsPage> {
  const { waiting, ledger, clock, settings, cluster } = sources;
  const end = clock.now() + LIMIT_MS;
  const now = ledger.now();
  const { limit, keys, errors, cursor, state, bounds } = checkJobFilter(filter, now);
  const all = tube === undefined ? (await namesOfTubes(sources)).tubes : [storedTube(tube, settings.prefix)];
  const { tubes, listed } = await tubesWithJobs(waiting, all);
  const size = Math.max(SMALLEST_PAGE, Math.ceil((2 * limit) / Math.max(1, tubes.length)));
  const walk = new WaitingWalk(
    waiting,
    { ...bounds, limit: prefix === undefined ? Math.min(BATCH, size) : BATCH },
    MAX_PAGES,
  );
  await walk.begin(tubes, cursor === undefined ? undefined : readPosition(cursor));
  const found: (TubeJob & { readonly key?: string | undefined })[] = [];
  let [looked, rest] = [0, 0];
  let position = walk.position;
  do {
    const most = prefix === undefined ? limit - found.length : BATCH;
    const batch = await some(walk, Math.min(most, MAX_LOOKED - looked));
    if (batch.length === 0) break;
    rest = batch.length;
    const keyOf =
      prefix === undefined && !keys
        ? undefined
        : await byTube(batch, (of, jobs) => keysOf(sources, of, jobs));
    for (const each of batch) {
      if (found.length === limit) break;
      [looked, rest] = [looked + 1, rest - 1];
      position = { due: each.job.due, id: each.job.id };
      const key = keyOf?.(each);
      const isWanted = state === undefined || stateOf(each.job, now) === state;
      const begins = prefix === undefined || key?.startsWith(prefix) || each.job.id.startsWith(prefix);
      if (isWanted && begins) found.push({ ...each, key });
    }
  } while (found.length < limit && looked < MAX_LOOKED && clock.now() < end);
  // A walk may end further than at its last job, as pages may have none.
  if (rest === 0) position = walk.position;
  const isOver = rest === 0 && !walk.goesOn;
  const { seal } = cluster.settings;
  const errorOf = errors ? await byTube(found, (of, jobs) => errorsOf(ledger, of, jobs)) : undefined;
  return {
    jobs: found.map(({ key, ...each }) => {
      const { tube: of, job } = each;
      const error = errorOf?.(each);
      return {
        ...summaryOf({ ...job, key }, { tube: of, prefix: settings.prefix, seal, now }),
        ...(key !== undefined && { key }),
        ...(error && { error }),
      };
    }),
    ...(!isOver && position && { cursor: formatCursor(position.due, position.id) }),
    listed,
    looked,
  };
}

async function tubesWithJobs(
  waiting: WaitingJobs,
  all: readonly StoredTube[],
): Promise<{ readonly tubes: StoredTube[]; readonly listed: number }> {
  const tubes: StoredTube[] = [];
  let listed = 0;
  await someAtOnce(all, AT_ONCE, async (tube) => {
    const counts = await waiting.counts(tube);
    if (counts.listed > 0) tubes.push(tube);
    listed += counts.listed;
  });
  return { tubes, listed };
}

async function some(walk: WaitingWalk, most: number): Promise<TubeJob[]> {
  const jobs: TubeJob[] = [];
  while (jobs.length < most) {
    const next = await walk.next();
    if (!next) break;
    jobs.push(next);
  }
  return jobs;
}

/** Asks about the jobs of each tube, and returns what was answered about a job. */
async function byTube<T>(
  jobs: readonly TubeJob[],
  ask: (tube: StoredTube, jobs: readonly WaitingJob[]) => Promise<ReadonlyMap<string, T>>,
): Promise<(job: TubeJob) => T | undefined> {
  const tubes = [...new Set(jobs.map(({ tube }) => tube))];
  const asked = tubes.map(async (tube) => {
    const ofTube = jobs.filter((each) => each.tube === tube).map(({ job }) => job);
    return [tube, await ask(tube, ofTube)] as const;
  });
  const answers = new Map(await Promise.all(asked));
  return ({ tube, job }) => answers.get(tube)?.get(job.id);
}
