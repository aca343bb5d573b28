import type { StoredTube } from '../api/tube.js';
import type { Ledger } from '../ledger/ledger.js';
import type { IndexRequest } from '../ledger/requests.js';
import type { Clock, Timer } from 'nest-handlers/time';
import { withinLimit } from '../time/call-limit.js';

/** Jobs that wait for their call, of all tubes. What is beyond is not listed. */
const MOST_KEPT = 100_000;
/** A script blocks Redis while it runs. */
const LARGEST_CALL = 256;
/** Calls of a tube that are sent together. In a burst, an answer waits for a turn of the busy event loop. */
const CALLS = 4;
/** The share of what is kept that goes at least with one turn: in a long burst, so much more waits that the writer keeps pace. */
const SHARE = 1 / 8;
/** Milliseconds. What comes within this time goes with one call: a full call costs half as much for a job as a small one. */
const TOGETHER = 50;
/** Milliseconds after a call without an answer, such as while Redis is away. */
const PAUSE = 500;
/** Milliseconds that a shutdown waits. */
const CLOSING_LIMIT = 500;

/**
 * Writes the plain jobs that this process stored into the ledger's index, behind their adds: no add waits for it or fails by
 * it. A tube has some calls under way at a time, the more the more waits; what comes meanwhile goes with the next ones. While
 * Redis is away, jobs are kept up to a bound.
 */
export class IndexWriter {
  /** Jobs that are in no index, because there were too many. */
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
    if (this.kept >= MOST_KEPT) {
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

  /** Resolves once the jobs of a tube that were added until now are written. Rejects as the ledger does. */
  async written(tube: StoredTube): Promise<void> {
    await this.tubes.get(tube)?.flush();
  }

  /** Writes what it can within half a second. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    const writers = [...this.tubes.values()];
    const flushed = Promise.allSettled(writers.map((writer) => writer.flush()));
    await withinLimit(this.clock, CLOSING_LIMIT, flushed).catch(() => undefined); // what is left is not listed
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

/** The jobs of one tube. They wait here until their call is answered. */
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
    if (!this.call) this.sendIn(TOGETHER);
  }

  async flush(): Promise<void> {
    for (let left = this.size; left > 0 && !this.closed;) left -= await this.send();
  }

  close(): void {
    this.closed = true;
    this.timer?.cancel();
  }

  /** How many jobs were written. Rejects as the ledger does: then they wait for the next call. */
  private send(): Promise<number> {
    this.call ??= this.sendNow();
    return this.call;
  }

  private async sendNow(): Promise<number> {
    this.timer?.cancel();
    this.timer = undefined;
    const jobs = this.waiting.slice(0, Math.max(CALLS * LARGEST_CALL, Math.ceil(this.size * SHARE)));
    let pause = PAUSE;
    try {
      await this.write(jobs);
      this.waiting.splice(0, jobs.length);
      pause = this.size < LARGEST_CALL ? TOGETHER : 0;
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
