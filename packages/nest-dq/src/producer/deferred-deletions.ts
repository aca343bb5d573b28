import type { StoredTube } from '../api/tube.js';
import { deleteCopies, type DeletingParts, type JobGeneration } from '../copies/deletion.js';
import type { Place } from '../copies/location.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Max number of jobs waiting for deletion. Further revokes wait for room, so memory stays bounded however slow the nodes are. */
export const MAX_WAITING = 50_000;
/** Jobs per turn, sent in one write to each node. */
const TOGETHER = 512;
/** Min share of the backlog per turn: in a long burst the backlog grows until deletions keep pace. */
const SHARE = 1 / 8;
/** Pause between two turns while revokes keep coming, so that answers go first in a burst. */
const PAUSE_MS = 50;
/** How long a shutdown waits. A copy not deleted by then surfaces later, and the ledger says `gone`. */
const CLOSING_LIMIT_MS = 500;

/** Copies of one job to delete. */
interface Deletion {
  readonly tube: StoredTube;
  readonly job: JobGeneration;
  readonly places: readonly Place[];
}

/** Deletes copies of revoked jobs after the revoke has been answered: immediately if idle, otherwise for many jobs together. */
export class DeferredDeletions {
  private readonly waiting: Deletion[] = [];
  /** Revokes waiting for room, in order. */
  private readonly blocked: (() => void)[] = [];
  /** True during a turn and the pause after it. */
  private busy = false;
  private pause: Timer | undefined;
  /** Jobs left waiting when the turn began. */
  private left = 0;
  private closed = false;
  private readonly atEnd: (() => void)[] = [];

  constructor(
    private readonly parts: DeletingParts,
    private readonly clock: Clock,
  ) {}

  /** Queues a deletion. If the queue is full, returns a promise that resolves once there is room. */
  add(tube: StoredTube, job: JobGeneration, places: readonly Place[]): Promise<void> | undefined {
    this.waiting.push({ tube, job, places });
    if (!this.busy) {
      this.busy = true;
      this.clock.next(this.take);
    }
    if (this.waiting.length <= MAX_WAITING) return undefined;
    return new Promise((resolve) => this.blocked.push(resolve));
  }

  /** Resolves once all copies are deleted, within half a second. Idempotent. */
  async close(): Promise<void> {
    this.closed = true;
    if (!this.busy) return;
    const end = new Promise<void>((resolve) => this.atEnd.push(resolve));
    if (this.pause) {
      this.pause.cancel();
      this.take();
    }
    await withinLimit(this.clock, CLOSING_LIMIT_MS, end).catch(() => undefined); // the ledger remembers what is left
  }

  private readonly take = (): void => {
    this.pause = undefined;
    const turn = this.waiting.splice(0, Math.max(TOGETHER, Math.ceil(this.waiting.length * SHARE)));
    this.left = this.waiting.length;
    for (const resolve of this.blocked.splice(0, turn.length)) resolve();
    const deleted = turn.map(({ tube, job, places }) => deleteCopies(this.parts, tube, job, places));
    void Promise.all(deleted).then(this.taken);
  };

  private readonly taken = (): void => {
    const { length } = this.waiting;
    if (length > this.left && !this.closed) this.pause = this.clock.after(PAUSE_MS, this.take);
    else if (length > 0) this.take();
    else this.end();
  };

  private end(): void {
    this.busy = false;
    for (const resolve of this.atEnd.splice(0)) resolve();
  }
}
