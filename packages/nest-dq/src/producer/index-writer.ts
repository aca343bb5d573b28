import type { StoredTube } from '../api/tube.js';
import type { Ledger } from '../ledger/ledger.js';
import type { IndexRequest } from '../ledger/requests.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { withinLimit } from '../time/call-limit.js';

/** Max jobs waiting for their call, across all tubes. Beyond that, jobs are missing from the index. */
const MAX_KEPT = 100_000;
/** Max jobs per call, because a script blocks Redis while it runs. */
const LARGEST_CALL = 256;
/** Max calls per tube sent together. In a burst, each answer has to wait for the busy event loop. */
const CALLS = 4;
/** Min share of the backlog per turn: in a long burst the backlog grows until the writer keeps pace. */
const SHARE = 1 / 8;
/** Batching window: in a full call, a job costs half as much as in a small one. */
const BATCH_WINDOW_MS = 50;
/** Pause after a call that got no answer, for example while Redis is unreachable. */
const PAUSE_MS = 500;
/** How long a shutdown waits. */
const CLOSING_LIMIT_MS = 500;

/**
 * Writes plain jobs stored by this process to the ledger's index, after their adds: no add waits for it or fails because of it.
 * Each tube has a few calls in flight, and more the larger its backlog; new jobs go into the next ones. While Redis is
 * unreachable, jobs are kept up to a limit.
 */
export class IndexWriter {
  /** Number of jobs missing from the index because too many were waiting. */
  unlisted = 0;
  private readonly tubes = new Map<StoredTube, TubeWriter>();
  private kept = 0;
  private closed = false;

  constructor(
    private readonly ledger: Ledger,
    private readonly clock: Clock,
  ) {}

  add(tube: StoredTube, job: IndexRequest): void {
    if (this.closed) return;
    if (this.kept >= MAX_KEPT) {
      this.unlisted++;
      return;
    }
    this.kept++;
    let writer = this.tubes.get(tube);
    if (!writer) {
      writer = new TubeWriter(this.clock, (jobs) => this.write(tube, jobs));
      this.tubes.set(tube, writer);
    }
    writer.add(job);
  }

  /** Resolves once all jobs of a tube added so far are written. Rejects as the ledger does. */
  async written(tube: StoredTube): Promise<void> {
    await this.tubes.get(tube)?.flush();
  }

  /** Writes as much as it can within half a second. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    const writers = [...this.tubes.values()];
    const flushed = Promise.allSettled(writers.map((writer) => writer.flush()));
    await withinLimit(this.clock, CLOSING_LIMIT_MS, flushed).catch(() => undefined); // the rest stays missing from the index
    for (const writer of writers) writer.close();
  }

  private async write(tube: StoredTube, jobs: readonly IndexRequest[]): Promise<void> {
    const ledger = this.ledger.tube(tube);
    const calls: Promise<unknown[]>[] = [];
    for (let begin = 0; begin < jobs.length; begin += LARGEST_CALL)
      calls.push(ledger.ask('index', jobs.slice(begin, begin + LARGEST_CALL)));
    const answers = (await Promise.all(calls)).flat();
    this.kept -= jobs.length;
    this.unlisted += answers.filter((answer) => answer === 'full').length;
    if (this.tubes.get(tube)?.size === jobs.length) this.tubes.delete(tube);
  }
}

/** Jobs of one tube, kept until their call is answered. */
class TubeWriter {
  private readonly waiting: IndexRequest[] = [];
  private call: Promise<number> | undefined;
  private timer: Timer | undefined;
  private closed = false;

  constructor(
    private readonly clock: Clock,
    private readonly write: (jobs: readonly IndexRequest[]) => Promise<void>,
  ) {}

  get size(): number {
    return this.waiting.length;
  }

  add(job: IndexRequest): void {
    this.waiting.push(job);
    if (!this.call) this.sendIn(BATCH_WINDOW_MS);
  }

  async flush(): Promise<void> {
    for (let left = this.size; left > 0 && !this.closed;) left -= await this.send();
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  /** Resolves with the number of jobs written. Rejects as the ledger does; the jobs then wait for the next call. */
  private send(): Promise<number> {
    this.call ??= this.sendNow();
    return this.call;
  }

  private async sendNow(): Promise<number> {
    this.timer?.cancel();
    this.timer = undefined;
    const jobs = this.waiting.slice(0, Math.max(CALLS * LARGEST_CALL, Math.ceil(this.size * SHARE)));
    let pause = PAUSE_MS;
    try {
      await this.write(jobs);
      this.waiting.splice(0, jobs.length);
      pause = this.size < LARGEST_CALL ? BATCH_WINDOW_MS : 0;
    } finally {
      this.call = undefined;
      if (this.size > 0) this.sendIn(pause);
    }
    return jobs.length;
  }

  private sendIn(ms: number): void {
    if (this.closed) return;
    this.timer ??= this.clock.after(ms, () => void this.send().catch(() => undefined));
  }
}
