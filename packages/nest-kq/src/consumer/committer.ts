/** Tells the group how far its partitions are handled. */
import type { LogMember } from '../driver/driver.js';
import type { GroupOffset } from '../driver/message.js';
import { toError } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { PartitionWork } from './partition-work.js';

export interface CommitterOptions {
  /** Milliseconds between two commits at least. */
  readonly every: number;
  /** All partitions that are assigned now. */
  works(): Iterable<PartitionWork>;
  /** Nothing was committed; it is tried again. */
  failed(error: Error): void;
}

/** One commit at a time, of all partitions whose watermark has moved, and none while the group takes none. */
export class Committer {
  private timer: Timer | undefined;
  private committing: Promise<void> | undefined;
  private held = true;
  /** How often the group was shared out. */
  private shares = 0;
  private stopped = false;
  private last = -Infinity;

  constructor(
    private readonly member: Pick<LogMember, 'commit'>,
    private readonly clock: Clock,
    private readonly options: CommitterOptions,
  ) {}

  /** A watermark may have moved. */
  readonly moved = (): void => {
    if (this.timer || this.committing || this.held || this.stopped) return;
    const wait = Math.max(0, this.last + this.options.every - this.clock.now());
    this.timer = this.clock.after(wait, () => {
      this.timer = undefined;
      void this.commit();
    });
  };

  /** Resolves once no commit is under way. Never rejects. */
  async settled(): Promise<void> {
    await this.committing;
  }

  /** Commits what is handled, at once. Never rejects. */
  async flush(): Promise<void> {
    this.timer?.cancel();
    this.timer = undefined;
    await this.committing;
    await this.commit();
  }

  /** The group has been shared out: it takes commits again. */
  release(): void {
    this.shares++;
    this.held = false;
    this.moved();
  }

  /** Commits what is handled, at once; after that nothing more. Idempotent. */
  async stop(): Promise<void> {
    this.stopped = true;
    await this.flush();
  }

  private commit(): Promise<void> {
    const { held, shares } = this;
    const moved = held ? [] : [...this.options.works()].filter(hasMoved);
    if (moved.length === 0) return Promise.resolve();
    const offsets = moved.map(({ place, watermark }): GroupOffset => ({ ...place, offset: watermark! }));
    this.last = this.clock.now();
    this.committing = this.member
      .commit(offsets)
      .then(
        (done) => {
          if (done) moved.forEach((work, index) => (work.committed = offsets[index]!.offset));
          else if (shares === this.shares) this.held = true; // until the assignment that follows
        },
        (error: unknown) => this.options.failed(toError(error)),
      )
      .then(() => {
        this.committing = undefined;
        if ([...this.options.works()].some(hasMoved)) this.moved();
      });
    return this.committing;
  }
}

function hasMoved({ watermark, committed, inTransaction }: PartitionWork): boolean {
  // Within a batch, a transaction may have committed more than is handled here.
  return !inTransaction && watermark !== undefined && (committed === undefined || watermark > committed);
}
