import type { Duration } from 'nest-handlers/time';
import { storedTube, type StoredTube, type Tube, withoutPrefix } from '../api/tube.js';
import { isUnreadable, lookForCopy, type UnreadableCopy } from '../copies/reading.js';
import { DqError, show, unknownName } from '../errors.js';
import type { WaitingJob, WaitingPosition } from '../ledger/waiting/waiting-jobs.js';
import { formatCursor, parseCursor } from '../producer/cursor.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { parseDuration } from '../time/duration.js';
import { Act } from './act.js';
import {
  type Bulk,
  type BulkOptions,
  type BulkPage,
  type BulkProgress,
  type Changed,
  checkBulk,
  inBulk,
  moveListed,
  PAGE,
  someAtOnce,
} from './bulk.js';
import { viewOfTubes } from './tube-view.js';
import type { Cluster } from '../cluster/cluster.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { isUnknown, parseLocation, type Place } from '../copies/location.js';

const AT_ONCE = 64;

export interface RepairOptions extends BulkOptions {
  /** Repairs only the jobs of this tube. @default all tubes */
  tube?: string | Tube;
  /**
   * Endpoint of a node that won't come back, or not with its copies: these no longer count.
   * @default a copy counts unless its node answers and doesn't have it, or is drained
   */
  node?: string;
  /** Jobs due sooner than this aren't changed: they run from the copies they have. @default '1m' */
  dueAfter?: Duration;
}

/** A job with fewer copies than it could have. */
export interface RepairExample {
  /** Id of the job. */
  readonly id: string;
  /** Name of the tube without the prefix. */
  readonly tube: string;
  /** Due time, also after a repair. */
  readonly dueAt: Date;
  /** How many more copies it could have. */
  readonly missing: number;
}

/** A waiting job, and how many copies it lacks. */
export interface Checked extends WaitingJob {
  readonly tube: StoredTube;
  readonly missing: number;
}

interface RepairSettings {
  /** The only tube to repair; undefined for all tubes. */
  readonly only?: StoredTube | undefined;
  readonly counting: Counting;
  /** Jobs due sooner than this aren't changed, in ms. */
  readonly dueAfter: number;
  /** How long to retry, in ms. */
  readonly patience: number;
  /** Number of jobs looked at, or moved, concurrently. */
  readonly atOnce: number;
}

/** Where a page of jobs starts: after a job of a tube, or at the tube's first one. */
interface Cursor {
  readonly tube: StoredTube;
  readonly after?: WaitingPosition | undefined;
}

/** Repairs the jobs selected by the options, as described at `DqControl.repair`. */
export function repair(
  context: ProducerContext,
  options: RepairOptions = {},
): AsyncGenerator<BulkProgress<RepairExample>, void, undefined> {
  const {
    tube,
    node,
    dueAfter = '1m',
    by,
    cursor,
    dryRun = false,
    patience,
  } = checkBulk(options, ['dueAfter', 'node', 'tube']);
  context.refuseIfClosed();
  const { cluster, events, settings } = context.parts;
  if (node !== undefined) checkNode(cluster, node);
  if (cursor !== undefined) readCursor(cursor);
  const only = tube === undefined ? undefined : storedTube(tube, settings.prefix);
  const on = {
    ...(only !== undefined && { tube: withoutPrefix(only, settings.prefix) }),
    ...(node !== undefined && { node }),
  };
  const act = new Act(events, 'repair', on, by);
  const work = new Repair(context, {
    only,
    counting: { replaced: node },
    dueAfter: parseDuration(dueAfter, '`dueAfter`'),
    patience: context.patienceOf(patience),
    atOnce: AT_ONCE,
  });
  return inBulk(work, { cursor }, dryRun ? undefined : act);
}

/** Finds waiting jobs that lack copies, tube by tube, and moves each to its own due time: its new generation has all copies. */
export class Repair implements Bulk<Checked, RepairExample> {
  /** Sorted by name. */
  private tubes: Promise<readonly StoredTube[]> | undefined;
  /** Approximate number of jobs to look at, as far as known, and number of those looked at. */
  listed = 0;
  looked = 0;
  /** Jobs that can't be repaired here because this process can't read their remaining copies, each with such a copy. */
  readonly unreadable: { readonly job: Checked; readonly copy: UnreadableCopy }[] = [];

  constructor(
    private readonly context: ProducerContext,
    private readonly settings: RepairSettings,
  ) {}

  async read(from: string | undefined): Promise<BulkPage<Checked>> {
    const { context } = this;
    const { only, counting, dueAfter, patience, atOnce } = this.settings;
    context.refuseIfClosed();
    const { cluster, waiting } = context.parts;
    const begin = from === undefined ? undefined : readCursor(from);
    const all = await (this.tubes ??= only === undefined ? this.allTubes() : Promise.resolve([only]));
    const [tube, following] = all.filter((name) => !begin || name >= begin.tube);
    if (tube === undefined) return { items: [], cursor: from ?? '', next: undefined };
    const after = tube === begin?.tube ? begin.after : undefined;
    const page = { from: context.now(tube) + dueAfter, limit: PAGE, after };
    const call = { patience, repeatable: true };
    const { jobs, next } = await context.retries.run(call, () => waiting.page(tube, page));
    const items: Checked[] = [];
    await someAtOnce(jobs, atOnce, async (job) => {
      items.push({ ...job, tube, missing: await missingCopies(cluster, { ...job, tube }, counting) });
    });
    this.looked += jobs.length;
    const goesOn = next ? { tube, after: next } : following && { tube: following };
    return {
      items: items.sort(inOrder),
      cursor: cursorAt({ tube, after }),
      next: goesOn && cursorAt(goesOn),
    };
  }

  private async allTubes(): Promise<StoredTube[]> {
    const { parts } = this.context;
    const { tubes } = await viewOfTubes(parts);
    this.listed = tubes.reduce((sum, { listed = 0 }) => sum + listed, 0);
    return tubes.map(({ tube }) => storedTube(tube, parts.settings.prefix));
  }

  matches({ missing }: Checked): boolean {
    return missing > 0;
  }

  /** Whether the job has a copy to repair it from. One that can't be read is noted. */
  async isRepairable(job: Checked): Promise<boolean> {
    const copy = await lookForCopy(this.context.parts.cluster, job.tube, job, job.places);
    if (!isUnreadable(copy)) return copy !== undefined;
    this.unreadable.push({ job, copy });
    return false;
  }

  timeOf({ due }: Checked): number {
    return due;
  }

  cursorBehind({ tube, due, id }: Checked): string {
    return cursorAt({ tube, after: { due, id } });
  }

  change(jobs: readonly Checked[], ended: (job: Checked, how: Changed) => void): Promise<void> {
    const { context } = this;
    const { patience, atOnce } = this.settings;
    return someAtOnce(jobs, atOnce, async (job) => {
      const { tube, id, due } = job;
      const result = await moveListed(context, { patience }, tube, job, () => due);
      if (typeof result !== 'string') {
        if (result.code === 'DQ_BAD_SEAL') await this.isRepairable(job);
        return ended(job, result);
      }
      if (result !== 'unknown') return ended(job, result === 'rescheduled' ? 'done' : 'skipped');
      // Others have moved it, so that it has a record; or it is a plain job without a copy, of which nothing else is known.
      const known = await context.retries.run({ patience }, () => context.batched.ask(tube, 'find', id));
      ended(job, known ? 'skipped' : withoutCopy(job));
    });
  }

  show({ id, tube, due, missing }: Checked): Promise<RepairExample> {
    const name = withoutPrefix(tube, this.context.parts.settings.prefix);
    return Promise.resolve({ id, tube: name, dueAt: new Date(due), missing });
  }
}

function withoutCopy({ id, places }: Checked): DqError {
  const where = places.map(({ location }) => location).join(', ');
  return new DqError('DQ_NO_COPY', `no reachable copy of job ${id}: expected one at ${where}`);
}

function inOrder(a: WaitingPosition, b: WaitingPosition): number {
  return a.due - b.due || (a.id < b.id ? -1 : 1);
}

function cursorAt({ tube, after }: Cursor): string {
  return after ? formatCursor(tube, after.due, after.id) : formatCursor(tube);
}

/** Throws `DQ_BAD_OPTION`. */
function readCursor(cursor: string): Cursor {
  const values = parseCursor(cursor, 'a previous `repair`', ['string'], ['string', 'number', 'string']);
  const tube = values[0] as StoredTube;
  return values.length === 3 ? { tube, after: { due: values[1], id: values[2] } } : { tube };
}

/** Which copies count. */
interface Counting {
  /** Endpoint of a node whose copies don't count, although it may come back. */
  readonly replaced?: string | undefined;
  /** Whether copies on drained nodes, and on nodes unknown to this process, count. Others may still need these nodes. */
  readonly byItself?: boolean;
}

/**
 * How many more copies a job would have if it were stored again now. 0 if it has all it can have; if that is unknown, because a
 * node doesn't answer; or if it waits for a retry, because a move would reset its attempts.
 */
async function missingCopies(
  cluster: Cluster,
  job: WaitingJob & { readonly tube: StoredTube },
  counting: Counting = {},
): Promise<number> {
  if (job.attempt > 0) return 0;
  const { replaced } = counting;
  const usable = cluster.nodes.filter(
    ({ endpoint, writable, up, drained, twin }) =>
      up && writable && !drained && !twin && endpoint !== replaced,
  );
  const possible = Math.min(cluster.settings.replicas, usable.length);
  if (job.places.length === 0) return 0; // the list doesn't know them
  const known = job.places.filter(({ location }) => !isUnknown(location));
  const counted = await Promise.all(known.map((place) => counts(cluster, job, place, counting)));
  return Math.max(0, possible - counted.filter(Boolean).length);
}

async function counts(
  cluster: Cluster,
  job: WaitingJob & { readonly tube: StoredTube },
  place: Place,
  { replaced, byItself = false }: Counting,
): Promise<boolean> {
  const location = parseLocation(place.location);
  const node = location && nodeAt(cluster, location.instance, location.endpoint);
  if (!node) return byItself;
  if (node.endpoint === replaced || (node.drained && !byItself)) return false;
  // A server that kept running has what it stored. One that is away may come back with it.
  if (!node.up || node.instance === location.instance) return true;
  // It restarted: it has the copy if it has a log.
  const found = await lookForCopy(cluster, job.tube, job, [place]);
  if (found && !(isUnreadable(found) && found.missingKey === undefined)) return true;
  return !node.up;
}

/** Finds a node by its instance first: two processes may know one node by two names. */
function nodeAt({ nodes }: Cluster, instance: string, endpoint: string): ClusterNode | undefined {
  return nodes.find((node) => node.instance === instance) ?? nodes.find((node) => node.endpoint === endpoint);
}

/** Throws `DQ_BAD_OPTION` if the cluster has no such node. */
export function checkNode({ nodes }: Cluster, endpoint: string): void {
  const known = nodes.map((node) => node.endpoint);
  if (!known.includes(endpoint)) throw unknownName('DQ_BAD_OPTION', `node ${show(endpoint)}`, known);
}
