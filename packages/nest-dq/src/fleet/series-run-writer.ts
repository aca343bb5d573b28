import { hostname } from 'node:os';
import { DqError, factOf, toError } from '../errors.js';
import type { DqEvents } from '../events/events.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { SeriesPlans } from './series-plans.js';
import type { SeriesOutcome, SeriesRunRecord, SeriesRuns, StoredSeriesRun } from './series-runs.js';

/** Pause before storing runs again that the ledger didn't take. */
const RETRY_AFTER_MS = 5_000;
/** How long a close waits for the last runs to be stored. */
const LAST_CALL_MS = 500;
/** Runs per call. */
const TOGETHER = 100;
/** Characters of an error that are kept. */
const ERROR_LIMIT = 300;

interface SeriesRunWriterParts {
  readonly events: DqEvents;
  readonly runs: SeriesRuns;
  readonly clock: Clock;
  readonly warn: (message: string) => void;
  readonly keepErrors: boolean;
  /** Returns the plan of the series in this process whose occurrence the job is; undefined if it's another job. */
  readonly planOf: (job: { readonly tube: string; readonly key?: string | undefined }) => string | undefined;
  /** For series made at run time. */
  readonly plans: Pick<SeriesPlans, 'ran'>;
  /** Returns the name of the series made at run time whose occurrence the job is; undefined if it's another job. */
  readonly nameOf: (job: { readonly key?: string | undefined }) => string | undefined;
}

interface Job {
  readonly id: string;
  readonly tube: string;
  readonly key?: string | undefined;
  readonly dueAt: Date;
  readonly attempt: number;
}

interface WaitingRun extends StoredSeriesRun {
  /** Undefined for a `@Recurring`. */
  readonly name: string | undefined;
}

/** Remembers how each series of this process ran last. No run waits for it, or depends on it. */
export class SeriesRunWriter {
  /** By series: only the last run counts. */
  private readonly waiting = new Map<string, WaitingRun>();
  private underWay: Promise<void> | undefined;
  private timer: Timer | undefined;
  /** The failed run of a job that may be dead now. */
  private failing: { readonly id: string; readonly took: number } | undefined;
  private failed = false;
  private state: 'new' | 'listening' | 'closed' = 'new';

  constructor(private readonly parts: SeriesRunWriterParts) {}

  /** Listens from now on. Only for a process with series: events that nobody hears cost nothing. Idempotent. */
  start(): void {
    if (this.state !== 'new') return;
    this.state = 'listening';
    const { events } = this.parts;
    events.on('completed').subscribe(({ job, took }) => this.note(job, 'completed', took));
    events.on('failed').subscribe(({ job, took, error, retryAt }) => {
      this.note(job, retryAt ? 'retrying' : 'failed', took, error);
      this.failing = retryAt ? undefined : { id: job.id, took };
    });
    // Follows the failure of its last attempt, unless the process that ran that one died.
    events.on('dead').subscribe(({ letter }) => {
      const took = this.failing?.id === letter.id ? this.failing.took : undefined;
      this.note(letter, 'dead', took, letter.error);
    });
  }

  /** Stores the rest, as far as that can be done quickly. Idempotent. */
  async close(): Promise<void> {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.timer?.cancel();
    if (this.waiting.size === 0) return;
    await withinLimit(this.parts.clock, LAST_CALL_MS, this.store()).catch(() => undefined); // only for people to see
  }

  private note(
    job: Job,
    outcome: SeriesOutcome,
    took: number | undefined,
    error?: { readonly name: string; readonly message: string },
  ): void {
    const { planOf, nameOf, runs, keepErrors } = this.parts;
    const name = nameOf(job);
    const plan = name === undefined ? planOf(job) : ''; // its entry has the plan
    if (plan === undefined) return;
    const { tube } = job;
    const endedAt = Math.floor(runs.now());
    const record: SeriesRunRecord = {
      tube,
      plan,
      outcome,
      dueAt: job.dueAt.getTime(),
      endedAt,
      attempt: job.attempt,
      ...(took !== undefined && { took: Math.max(0, Math.round(took)) }),
      process: `${hostname()}:${process.pid}`,
      ...(error && keepErrors && { error: lineOf(error) }),
    };
    const id = name === undefined ? `tube ${tube}` : `name ${name}`;
    this.waiting.set(id, { tube, endedAt, text: JSON.stringify(record), name });
    void this.store();
  }

  private store(): Promise<void> {
    this.underWay ??= this.storeAll().finally(() => (this.underWay = undefined));
    return this.underWay;
  }

  /** Never rejects. */
  private async storeAll(): Promise<void> {
    const { runs, plans, clock, warn } = this.parts;
    this.timer?.cancel();
    await Promise.resolve(); // a death follows its failure in the same turn
    try {
      while (this.waiting.size > 0) {
        const some = [...this.waiting].slice(0, TOGETHER);
        const [named, declared] = [[], []] as [{ name: string; text: string }[], StoredSeriesRun[]];
        for (const [, { name, ...run }] of some) {
          if (name === undefined) declared.push(run);
          else named.push({ name, text: run.text });
        }
        if (declared.length > 0) await runs.put(declared);
        if (named.length > 0) await plans.ran(named);
        for (const [id, run] of some) if (this.waiting.get(id) === run) this.waiting.delete(id);
      }
      this.failed = false;
    } catch (thrown) {
      const fact = thrown instanceof DqError ? factOf(thrown) : toError(thrown).message;
      if (!this.failed) warn(`storing the last runs of series failed; retrying: ${fact}`);
      this.failed = true;
      if (this.state !== 'closed') this.timer = clock.after(RETRY_AFTER_MS, () => void this.store());
    }
  }
}

function lineOf({ name, message }: { readonly name: string; readonly message: string }): string {
  const [line = ''] = message.split('\n', 1);
  // Half a surrogate pair, at the cut or in the text, would make the JSON invalid in Lua.
  return `${name}: ${line}`.slice(0, ERROR_LIMIT).replace(/\p{Surrogate}/gu, '\uFFFD');
}
