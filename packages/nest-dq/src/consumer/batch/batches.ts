import { batchResults, detached, isThenable, wrongResult, type BatchKind } from 'nest-handlers/context';
import type { BatchHandlerMethod, DelayedJob } from '../../api/job.js';
import { DqError } from '../../errors.js';
import type { Delivery } from '../reserve/delivery.js';
import { isOutcome, OUTCOMES } from '../run/outcome.js';
import type { Run, RunningJob } from '../run/run.js';
import type { BatchSettings } from './batch-settings.js';

const JOBS: BatchKind = {
  items: 'jobs',
  isOutcome,
  mismatch: (fact) => new DqError('DQ_BAD_OPTION', fact),
};

/** A job whose run waits for the call of the batch, or for its end. */
interface Member {
  readonly payload: unknown;
  readonly job: RunningJob;
  readonly done: (result: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** One batch, from the claims of its copies until its last run has given up its slot. */
interface Batch {
  /** The copies claimed for it, in their order. */
  readonly copies: readonly Delivery[];
  /** Number of copies of which isn't known whether the handler gets their jobs. */
  pending: number;
  /** The jobs that the handler gets, by their copies. */
  readonly members: Map<Delivery, Member>;
  /** The runs that have, or had, a slot. */
  readonly runs: Run[];
}

/**
 * The batches of one tube. To everything around it, each job of a batch is a run of its own, with its own lease, timeout and
 * outcome: `run` is a handler of single jobs. It waits until the jobs of its batch are there, and then calls the method with all
 * of them.
 */
export class Batches {
  private readonly running = new Set<Batch>();
  /** The batch of each pending copy. */
  private readonly pending = new Map<Delivery, Batch>();

  constructor(
    readonly settings: BatchSettings,
    /** Max batches at the same time. */
    public concurrency: number,
    private readonly method: BatchHandlerMethod,
  ) {}

  /** Number of batches that may begin now. */
  get free(): number {
    for (const batch of this.running) {
      if (batch.pending === 0 && !batch.runs.some(({ hasSlot }) => hasSlot)) this.running.delete(batch);
    }
    return this.concurrency - this.running.size;
  }

  /** Begins a batch. Each copy is then either part of a `run`, or has `left`. */
  open(copies: readonly Delivery[]): void {
    const batch: Batch = { copies, pending: copies.length, members: new Map(), runs: [] };
    for (const copy of copies) this.pending.set(copy, batch);
    this.running.add(batch);
  }

  /** Called when a copy that was claimed leads to no run of the handler, or when its run has ended. Idempotent. */
  left(copy: Delivery): void {
    const batch = this.pending.get(copy);
    if (batch) this.settled(batch, copy);
  }

  /** Resolves with the result of one job, or rejects with its error, once the method has ended. */
  readonly run = (payload: unknown, given: DelayedJob): Promise<unknown> =>
    new Promise((done, fail) => {
      const job = given as RunningJob;
      const copy = job.run.delivery;
      const batch = this.pending.get(copy)!;
      batch.runs.push(job.run);
      batch.members.set(copy, { payload, job, done, fail });
      this.settled(batch, copy);
    });

  private settled(batch: Batch, copy: Delivery): void {
    this.pending.delete(copy);
    batch.pending--;
    // Detached, or it would run in the async context of its last job.
    if (batch.pending === 0 && batch.members.size > 0) detached(() => this.call(batch));
  }

  private call({ copies, members }: Batch): void {
    const all: Member[] = [];
    for (const copy of copies) {
      const member = members.get(copy);
      if (!member) continue;
      // While others were still being checked, it timed out, lost its lease or was revoked, or the shutdown timeout has passed.
      const { run } = member.job;
      if (run.handling && !run.aborted) all.push(member);
      else member.fail(run.signal.reason);
    }
    members.clear();
    if (all.length === 0) return;
    let returned: unknown;
    try {
      returned = this.method(
        all.map(({ payload }) => payload),
        all.map(({ job }) => job),
      );
    } catch (error) {
      return failAll(all, error);
    }
    if (!isThenable(returned)) return settle(all, returned);
    returned.then(
      (result) => settle(all, result),
      (error: unknown) => failAll(all, error),
    );
  }
}

function settle(all: readonly Member[], returned: unknown): void {
  if (wrongResult(returned, OUTCOMES) !== undefined) return all.forEach(({ done }) => done(returned));
  batchResults(returned, all.length, JOBS).forEach((result, i) => {
    if ('thrown' in result) all[i]!.fail(result.thrown);
    else all[i]!.done(result.value);
  });
}

function failAll(all: readonly Member[], error: unknown): void {
  for (const { fail } of all) fail(error);
}
