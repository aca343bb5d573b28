import type { StoredTube } from '../api/tube.js';
import { deleteCopies, type DeletingParts, type JobGeneration } from '../copies/deletion.js';
import type { Place } from '../copies/location.js';
import { withinLimit } from '../time/call-limit.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Jobs that wait for their deletions. A revoke beyond waits for room, so that no more is kept, however slow the nodes are. */
export const MOST_WAITING = 50_000;
/** Jobs whose deletions are under way at a time, and leave in one write to each node. */
const TOGETHER = 512;
/** The share of what waits that goes at least with one turn: in a long burst, so much more waits that the deletions keep pace. */
const SHARE = 1 / 8;
/** Milliseconds between two turns while revokes come: so in a burst the answers come first. */
const PAUSE = 50;
/** Milliseconds that a shutdown waits. What is not deleted by then comes back by itself, and the ledger says `gone`. */
const CLOSING_LIMIT = 500;

/** The copies of one job that are to be deleted. */
interface Deletion {
  readonly tube: StoredTube;
  readonly job: JobGeneration;
  readonly places: readonly Place[];
}

/** Deletes the copies of revoked jobs behind the answers: at once where nothing is under way, and else many jobs together. */
export class DeletionsBehind {
  private readonly waiting: Deletion[] = [];
  /** Revokes that wait for room, in order. */
  private readonly blocked: (() => void)[] = [];
  /** There is a turn, or the pause behind one. */
  private busy = false;
  private pause: Timer | undefined;
  /** Jobs that waited when the turn began. */
  private left = 0;
  private closed = false;
  private readonly atEnd: (() => void)[] = [];

  constructor(
    private readonly parts: DeletingParts,
    private readonly clock: Clock,
  ) {}

  /** A promise: there is too much that waits, and it resolves once there is room. */
  add(tube: StoredTube, job: JobGeneration, places: readonly Place[]): Promise<void> | undefined {
    this.waiting.push({ tube, job, places });
    if (!this.busy) {
      this.busy = true;
      this.clock.next(this.take);
    }
    if (this.waiting.length <= MOST_WAITING) return undefined;
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
    await withinLimit(this.clock, CLOSING_LIMIT, end).catch(() => undefined); // the ledger knows what is left
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
    if (length > this.left && !this.closed) this.pause = this.clock.after(PAUSE, this.take);
    else if (length > 0) this.take();
    else this.end();
  };

  private end(): void {
    this.busy = false;
    for (const resolve of this.atEnd.splice(0)) resolve();
  }
}
