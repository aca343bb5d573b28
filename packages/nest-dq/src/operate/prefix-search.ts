import type { JobView } from '../api/job.js';
import { storedTube, type StoredTube } from '../api/tube.js';
import { wrongValue } from '../errors.js';
import type { Presence } from '../fleet/presence.js';
import type { WaitingJob, WaitingJobs, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { withinLimit } from '../time/call-limit.js';
import { someAtOnce } from './bulk.js';
import { walkLetters } from './letters-walk.js';
import type { TubeSources } from './tube-view.js';
import { keyOf } from './waiting-view.js';

interface PrefixSources extends TubeSources {
  readonly waiting: WaitingJobs;
  readonly presence: Pick<Presence, 'all'>;
}

/** A job whose key or id begins with the searched string. */
interface PrefixedJob {
  /** Name without the prefix. */
  readonly tube: string;
  readonly id: string;
  /** Absent if it has none. */
  readonly key?: string;
  readonly state: JobView['state'];
  /** When it runs next; of a dead letter, when it died. Absent for one that runs. */
  readonly at?: Date;
}

/** The result of a search by prefix. */
export interface PrefixSearchResult {
  /** Running jobs first, then waiting ones by due time, then dead letters, the newest first; at most 20. */
  readonly jobs: readonly PrefixedJob[];
  /** Whether the search ended early because it found as many. */
  readonly more: boolean;
  /** Number of waiting jobs it looked at, those due next, and of all listed ones. */
  readonly waiting: number;
  readonly listed: number;
  /** Number of dead letters it looked at, the newest. */
  readonly dead: number;
  /** Number of jobs it looked at that have run for longer than a second. */
  readonly running: number;
}

/** Looked at over all tubes. */
const MAX_WAITING = 1_000;
const MAX_DEAD = 200;
const MAX_TUBES = 20;
const MAX_FOUND = 20;
/** Limit of one script. */
const LARGEST_PAGE = 100;
/** Time limit of listing jobs, and of reading their keys. */
const LIMIT_MS = 1_000;
/** Copies read concurrently, so that adds and runs don't wait behind many. */
const AT_ONCE = 10;

/** A job to look at. */
interface Candidate extends Pick<WaitingJob, 'id' | 'born' | 'places'> {
  readonly tube: StoredTube;
  readonly name: string;
  readonly kind: 'waiting' | 'dead' | 'running';
  readonly state: JobView['state'];
  readonly at?: Date;
}

/**
 * Finds jobs of up to 20 tubes by the beginning of their key, or of their id. Keys are only in the copies, and an index by key would
 * cost each add, so it reads a copy of each job that has a key: of the 1,000 waiting jobs that are due next, the newest 200 dead
 * letters, and the jobs that processes report as running, divided among the tubes. It ends after a second, or 20 jobs, and says how
 * many it has looked at. Rejects with `DQ_BAD_OPTION`, `DQ_BAD_TUBE`, `DQ_LEDGER_DOWN`, `DQ_CLOSED`.
 */
export async function searchPrefix(
  sources: PrefixSources,
  prefix: string,
  tubes: readonly string[],
): Promise<PrefixSearchResult> {
  if (prefix === '') throw wrongValue('DQ_BAD_OPTION', '`prefix`', prefix, 'a non-empty string');
  if (tubes.length === 0 || tubes.length > MAX_TUBES)
    throw wrongValue('DQ_BAD_OPTION', '`tubes`', tubes.length, `1 to ${MAX_TUBES} tubes`);
  const named = tubes.map((name) => ({ name, tube: storedTube(name, sources.settings.prefix) }));
  const [running, waiting, dead] = await Promise.all([
    runningOf(sources, named),
    waitingOf(sources, named),
    lettersOf(sources, named),
  ]);
  const candidates = [...running, ...waiting.jobs, ...dead];
  const looked = { waiting: 0, dead: 0, running: 0 };
  /** By rank, since copies are read concurrently. */
  const found: (PrefixedJob | undefined)[] = [];
  let [total, isOver] = [0, false];
  const look = async (job: Candidate) => {
    if (isOver || total > MAX_FOUND) return;
    const { tube, id, born, places, name, kind, state, at } = job;
    const hasKey = born > 0 && places.length > 0; // a job without a key was born without a generation
    const key = hasKey ? await keyOf(sources.cluster, tube, job) : undefined;
    if (isOver) return;
    looked[kind]++;
    if (key?.startsWith(prefix) !== true && !id.startsWith(prefix)) return;
    found[candidates.indexOf(job)] = {
      tube: name,
      id,
      ...(key !== undefined && { key }),
      state,
      ...(at && { at }),
    };
    total++;
  };
  const all = someAtOnce(candidates, AT_ONCE, look);
  await withinLimit(sources.clock, LIMIT_MS, all).catch(() => undefined); // the rest isn't looked at
  isOver = true;
  const jobs = found.filter((job) => job !== undefined).slice(0, MAX_FOUND);
  return { jobs, more: total > MAX_FOUND, listed: waiting.listed, ...looked };
}

interface Named {
  readonly name: string;
  readonly tube: StoredTube;
}

async function waitingOf(
  { waiting, clock }: PrefixSources,
  tubes: readonly Named[],
): Promise<{ readonly jobs: Candidate[]; readonly listed: number }> {
  const end = clock.now() + LIMIT_MS;
  const most = Math.floor(MAX_WAITING / tubes.length);
  const lists = await Promise.all(
    tubes.map(async ({ name, tube }) => {
      const { listed } = await waiting.counts(tube);
      const jobs: Candidate[] = [];
      let after: WaitingPosition | undefined;
      do {
        const limit = Math.min(LARGEST_PAGE, most - jobs.length);
        const page = await waiting.page(tube, { after, limit });
        for (const job of page.jobs) {
          const state = job.attempt > 0 ? 'retrying' : 'waiting';
          jobs.push({ ...job, name, tube, kind: 'waiting', state, at: new Date(job.due) });
        }
        after = page.next;
      } while (after && jobs.length < most && clock.now() < end);
      return { jobs, listed };
    }),
  );
  return {
    jobs: lists.flatMap(({ jobs }) => jobs).sort((a, b) => a.at!.getTime() - b.at!.getTime()),
    listed: lists.reduce((sum, { listed }) => sum + listed, 0),
  };
}

async function lettersOf({ ledger }: PrefixSources, tubes: readonly Named[]): Promise<Candidate[]> {
  const names = new Map(tubes.map(({ tube, name }) => [tube, name]));
  const found: Candidate[] = [];
  for await (const { tube, letter } of walkLetters(ledger, [...names.keys()], undefined, MAX_DEAD)) {
    const { id, born, places, died } = letter;
    const name = names.get(tube)!;
    found.push({ id, born, places, name, tube, kind: 'dead', state: 'dead', at: new Date(died) });
    if (found.length === MAX_DEAD) break;
  }
  return found;
}

async function runningOf({ presence, ledger }: PrefixSources, tubes: readonly Named[]): Promise<Candidate[]> {
  const processes = await presence.all();
  const lists = await Promise.all(
    tubes.map(async ({ name, tube }) => {
      const loads = processes.flatMap(({ record }) => record.tubes.filter((load) => load.tube === name));
      const ids = [...new Set(loads.flatMap(({ long }) => long.map(({ id }) => id)))].slice(0, LARGEST_PAGE);
      if (ids.length === 0) return [];
      const records = await ledger.tube(tube).find(ids);
      return ids.map((id, i): Candidate => {
        const { born = 0, places = [] } = records[i] ?? {};
        return { id, born, places, name, tube, kind: 'running', state: 'running' };
      });
    }),
  );
  return lists.flat();
}
