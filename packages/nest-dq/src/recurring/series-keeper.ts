import type { DelayedJob, HandlerMethod } from '../api/job.js';
import { storedTube } from '../api/tube.js';
import { isOutcome } from '../consumer/run/outcome.js';
import { DqError, factOf, show, toError } from '../errors.js';
import type { DqEvents } from '../events/events.js';
import type { SeriesPlans, StoredSeries } from '../fleet/series-plans.js';
import type { ClusterProducer } from '../producer/cluster-producer.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { entryOf, occurrencesOfEntry, readEntry, type SeriesEntry } from './series-plan.js';
import { Series, type ScheduledJob, type SeriesStart } from './series.js';

/** Beginning of the key of a series' job; its name follows. */
const KEY = 'series:';
/** Header with the plan that its job was scheduled by. */
const MARK_HEADER = 'dq-series';
/** Pause between two rounds of checks. */
const EVERY_MS = 15_000;
/** Series checked at a time. */
const TOGETHER = 200;
/** An occurrence is checked so long after its time, and missed if it hasn't started then. A series is checked no more often. */
const GRACE_MS = 60_000;
/** Longest pause between two checks of a series that is missed. */
const MAX_MISSED_PAUSE_MS = 600_000;
/** A new plan without a job begins where it was to begin if it's found within this time; otherwise its first times are over. */
const FRESH_MS = 120_000;
/** Max other plans that an upsert gives way to before it leaves the rest to the checks. */
const MAX_TRIES = 10;

interface SeriesKeeperParts {
  readonly plans: SeriesPlans;
  readonly producer: ClusterProducer;
  readonly events: DqEvents;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  /** The prefix of every tube's name. */
  readonly prefix: string;
  /** Called once, when this process first runs or plans a series. */
  readonly used: () => void;
}

/** Key of a series' job, in its tube. */
export function seriesKey(name: string): string {
  return KEY + name;
}

/** Returns the name of the series whose occurrence a job may be, by its key; undefined if it's of none. */
export function nameInKey(key: string | undefined): string | undefined {
  return key?.startsWith(KEY) ? key.slice(KEY.length) : undefined;
}

/** Whether a job is an occurrence of a series made at run time, rather than one whose key only looks like it. */
export function isOccurrence({ key, headers }: Pick<DelayedJob, 'key' | 'headers'>): boolean {
  return nameInKey(key) !== undefined && headers[MARK_HEADER] !== undefined;
}

/**
 * Keeps the series made at run time going. Its plans are in the ledger, so that any process can: each takes some of the series
 * whose check is due, and ensures that they have a job. A job comes again by itself, so that a check usually has nothing to do.
 */
export class SeriesKeeper {
  private readonly underWay = new Set<Promise<unknown>>();
  private timer: Timer | undefined;
  private state: 'new' | 'started' | 'closed' = 'new';
  private isUsed = false;
  private failed = false;
  private readonly warned = new Set<string>();

  constructor(private readonly parts: SeriesKeeperParts) {}

  /** Idempotent. */
  start(): void {
    if (this.state !== 'new') return;
    this.state = 'started';
    this.wait();
  }

  /** Resolves once no check is under way. Idempotent. */
  async close(): Promise<void> {
    this.state = 'closed';
    this.timer?.cancel();
    await Promise.allSettled(this.underWay);
  }

  /** Runs an occurrence and returns when the next one is. */
  async run(handler: HandlerMethod, payload: unknown, job: DelayedJob): Promise<unknown> {
    const [name, mark] = [nameInKey(job.key)!, job.headers[MARK_HEADER]!];
    this.use();
    const entry = await this.entryFor(name, mark, payload);
    if (!entry || entry.begunAt === undefined || entry.spec.tube !== job.tube) return undefined;
    return (await this.seriesOf(name, entry)).run(handler, payload, job);
  }

  /**
   * Ensures that a series has a job by its plan, or none if it was removed, even if the plan changes meanwhile. Resolves with its
   * job as the plan has it. Rejects as `DqProducer.at` and `reschedule` do: then the next check tries again.
   */
  async ensure(name: string, stored: string, start?: SeriesStart): Promise<ScheduledJob | undefined> {
    const { plans } = this.parts;
    let [text, from] = [stored, start];
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const entry = readEntry(text);
      if (!entry) return this.ignore(name, text);
      if (!this.mayAdd(entry)) return undefined;
      if (entry.begunAt === undefined) {
        await this.parts.producer.revoke({ tube: entry.spec.tube, key: seriesKey(name) });
        if (await plans.forget(name)) return undefined;
        text = (await plans.get(name))?.entry ?? '';
        from = startOf(text);
        continue;
      }
      const job = await this.schedule(name, entry, from).catch(unlessConflict);
      const other = job ? await plans.checked(name, text, checkOf(job)) : (await plans.get(name))?.entry;
      if (job && other === undefined) return job;
      text = other ?? '';
      from = startOf(text);
    }
    return undefined;
  }

  /** Rejects with `DQ_CONFIG` if croner is missing. */
  async seriesOf(name: string, entry: SeriesEntry): Promise<Series> {
    const { producer } = this.parts;
    const { spec, mark, payload } = entry;
    const occurrences = await occurrencesOfEntry(name, entry);
    const headers = { [MARK_HEADER]: mark };
    return new Series(spec.tube, { producer, occurrences, key: seriesKey(name), headers, payload });
  }

  /** Call before planning a series: the end of a job here is noticed at once from now on. */
  use(): void {
    if (this.isUsed) return;
    this.isUsed = true;
    const { events, used } = this.parts;
    events.on('dead').subscribe(({ letter }) => this.ended(letter));
    events.on('expired').subscribe((job) => this.ended(job));
    events.on('completed').subscribe(({ job, result }) => {
      if (!isOutcome(result)) this.ended(job);
    });
    used();
  }

  private async schedule(
    name: string,
    entry: SeriesEntry,
    start: SeriesStart | undefined,
  ): Promise<ScheduledJob> {
    const series = await this.seriesOf(name, entry);
    if (start?.isNew) {
      const job = await series.begin(start.after, entry.begunAt!);
      if (!job.kept) return job;
    }
    const job = await series.schedule(start);
    return job.kept ? series.schedule() : job;
  }

  /** The plan by which a job continues. If the ledger doesn't answer, or has lost it, that is the job's own. */
  private async entryFor(name: string, mark: string, payload: unknown): Promise<SeriesEntry | undefined> {
    const { plans } = this.parts;
    const own = entryOf(mark, payload);
    try {
      const stored = await plans.get(name);
      if (stored) return readEntry(stored.entry);
      await plans.restore(name, own);
    } catch (thrown) {
      if (!(thrown instanceof DqError) || thrown.code !== 'DQ_LEDGER_DOWN') throw thrown;
    }
    return readEntry(own);
  }

  /** A job ended here; it may be of a series. */
  private ended({ key }: { readonly key?: string | undefined }): void {
    const name = nameInKey(key);
    if (name === undefined || this.state === 'closed') return;
    const look = async () => {
      const stored = await this.parts.plans.get(name);
      if (stored) await this.ensure(name, stored.entry);
    };
    this.attend(look().catch(() => undefined)); // the next check reports it
  }

  private wait(): void {
    this.timer = this.parts.clock.after(EVERY_MS, () => this.attend(this.round()));
  }

  private attend(work: Promise<unknown>): void {
    this.underWay.add(work);
    void work.finally(() => this.underWay.delete(work));
  }

  /** Never rejects. */
  private async round(): Promise<void> {
    try {
      for (let taken = TOGETHER; taken === TOGETHER && this.state === 'started';) {
        const found = await this.parts.plans.take(TOGETHER);
        const failures = (await Promise.all(found.map((each) => this.check(each)))).filter(
          (each) => each !== undefined,
        );
        if (failures.length > 0) throw failures[0]!;
        taken = found.length;
      }
      this.failed = false;
    } catch (thrown) {
      const fact = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
      if (!this.failed) this.parts.warn(`checking the series failed; retrying every 15 s: ${fact}`);
      this.failed = true;
    }
    if (this.state === 'started') this.wait();
  }

  /** Resolves with why it failed. */
  private async check({ name, entry, run }: StoredSeries): Promise<Error | undefined> {
    try {
      const begunAt = readEntry(entry)?.begunAt;
      const isFresh = begunAt !== undefined && !run && this.parts.plans.now() - begunAt < FRESH_MS;
      await this.ensure(name, entry, isFresh ? { after: begunAt - 1, onlyIfUnknown: true } : undefined);
      return undefined;
    } catch (thrown) {
      return toError(thrown);
    }
  }

  private async ignore(name: string, text: string): Promise<undefined> {
    if (text === '') await this.parts.plans.forget(name);
    else this.warnOnce(name, `ignoring the series ${show(name)} in Redis, which is not in nest-dq's format`);
  }

  private warnOnce(about: string, message: string): void {
    if (!this.warned.has(about)) this.parts.warn(message);
    this.warned.add(about);
  }

  /** False for an entry that `upsert` would have refused: somebody else may have written it. */
  private mayAdd({ spec }: SeriesEntry): boolean {
    const { producer, prefix } = this.parts;
    if (!producer.sealsJobsOf(storedTube(spec.tube, prefix))) return true;
    this.warnOnce(spec.tube, `ignoring series of the tube ${show(spec.tube)} in Redis: its jobs are sealed`);
    return false;
  }
}

/** Another process is moving the same job, perhaps to another plan. */
function unlessConflict(thrown: unknown): undefined {
  if (!(thrown instanceof DqError) || thrown.code !== 'DQ_CONFLICT') throw thrown;
}

/** The start of a plan that somebody else has just set. */
function startOf(entry: string): SeriesStart | undefined {
  const begunAt = readEntry(entry)?.begunAt;
  return begunAt === undefined ? undefined : { after: begunAt - 1 };
}

/** When a series is checked next, and whether it's missed. */
function checkOf({ state, dueAt, seenAt }: ScheduledJob): {
  next: number | undefined;
  missedSince: number | undefined;
} {
  if (state === 'none' || dueAt === undefined) return { next: undefined, missedSince: undefined };
  const late = seenAt - dueAt;
  const isMissed = (state === 'waiting' || state === 'retrying') && late > GRACE_MS;
  const pause = isMissed ? Math.min(Math.max(late, GRACE_MS), MAX_MISSED_PAUSE_MS) : GRACE_MS;
  return { next: Math.max(dueAt, seenAt) + pause, missedSince: isMissed ? dueAt : undefined };
}
