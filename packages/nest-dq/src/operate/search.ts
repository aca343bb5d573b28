import { LONGEST_KEY } from '../api/job-options.js';
import type { JobView } from '../api/job.js';
import { withoutPrefix, type StoredTube } from '../api/tube.js';
import { keyedId } from '../copies/job-ref.js';
import { toError } from '../errors.js';
import type { FinishedEntry } from '../ledger/requests.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { someAtOnce } from './bulk.js';
import { namesOfTubes, type TubeSources } from './tube-view.js';

interface SearchSources extends TubeSources {
  readonly waiting: WaitingJobs;
}

/** A job named by the searched string. */
interface FoundJob {
  /** Name without the prefix. */
  readonly tube: string;
  readonly id: string;
  /** Present if the string is its key. */
  readonly key?: string;
  readonly state: JobView['state'];
  /** Absent if only its end is known. */
  readonly dueAt?: Date;
  /** When it ended, if it is done and kept. */
  readonly endedAt?: Date;
}

/** The result of a search. */
export interface SearchResult {
  readonly jobs: readonly FoundJob[];
  /** Number of tubes searched, and of all tubes. */
  readonly searched: number;
  readonly tubes: number;
  /** Whether there are more tubes than these. */
  readonly more: boolean;
  /** Endpoints of nodes that didn't answer: tubes that only they have are left out. */
  readonly away: readonly string[];
}

/** An id: a ULID, 24 characters of a hash, or that of a job in another program's format. */
const ID = /^([0-9A-HJKMNP-TV-Z]{26}|[\w-]{24}|[0-9a-f]{32})$/;
/** Tubes searched concurrently. */
const AT_ONCE = 16;
/** Time after which no further tube is searched. */
const LIMIT_MS = 3_000;

/**
 * Finds the jobs of all tubes, at most 1,000, whose key or id is this string. Redis gets the hash of the string, and the string
 * itself only if it looks like an id. For each tube the ledger is asked once for the records of both, and once for the id in the
 * list of waiting jobs, and once for finished jobs. So a plain job is found while it is listed, and an ended one as long as the
 * ledger remembers or keeps it. Rejects with `DQ_LEDGER_DOWN` if it answered for no tube.
 */
export async function searchJobs(sources: SearchSources, text: string): Promise<SearchResult> {
  const { clock } = sources;
  const end = clock.now() + LIMIT_MS;
  const { tubes, more, away } = await namesOfTubes(sources);
  const jobs: FoundJob[] = [];
  const failures: Error[] = [];
  let searched = 0;
  await someAtOnce(tubes, AT_ONCE, async (tube) => {
    if (clock.now() >= end) return;
    try {
      jobs.push(...(await searchTube(sources, tube, text)));
      searched++;
    } catch (thrown) {
      failures.push(toError(thrown));
    }
  });
  if (failures[0] && searched === 0) throw failures[0];
  return { jobs: jobs.sort((a, b) => (a.tube < b.tube ? -1 : 1)), searched, tubes: tubes.length, more, away };
}

async function searchTube(
  { ledger, waiting, settings }: SearchSources,
  tube: StoredTube,
  text: string,
): Promise<FoundJob[]> {
  const byKey = text.length <= LONGEST_KEY ? { id: keyedId(tube, text), key: text } : undefined;
  const byId = ID.test(text) ? { id: text } : undefined;
  const named = [byKey, byId].filter((each) => each !== undefined);
  if (named.length === 0) return [];
  const ids = named.map(({ id }) => id);
  const ofTube = ledger.tube(tube);
  const [records, ends, listed] = await Promise.all([
    ofTube.find(ids),
    // Unreadable while the tube's slot moves: the records are found nonetheless.
    ofTube.ask('ended', ids).catch(() => []),
    byId && waiting.find(tube, byId.id),
  ]);
  const name = withoutPrefix(tube, settings.prefix);
  return named.flatMap((job, i): FoundJob[] => {
    const record = records[i];
    const end = ends[i];
    // A job that ended may still be in the list if its record is gone.
    const isListed = job === byId && listed && !end;
    const found = record ?? (isListed ? { ...listed, state: 'waiting' as const } : undefined);
    const ended = end && { endedAt: new Date(end.ended) };
    if (!found) return end ? [{ tube: name, ...job, ...keyOf(end), state: 'done', ...ended }] : [];
    const { state, attempt, due } = found;
    const isRetrying = state === 'waiting' && attempt > 0;
    return [
      {
        tube: name,
        ...job,
        state: isRetrying ? 'retrying' : state,
        dueAt: new Date(due),
        ...(state === 'done' && ended),
      },
    ];
  });
}

function keyOf({ key }: FinishedEntry): Pick<FoundJob, 'key'> {
  return key === undefined ? {} : { key };
}
