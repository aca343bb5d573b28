/** Commits the handled offsets of a group's partitions. */
import type { LogMember } from '../driver/driver.js';
import type { GroupOffset } from '../driver/message.js';
import { toError } from '../errors.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { PartitionWork } from './partition-work.js';

export interface CommitterOptions {
  /** Minimum interval between commits, in ms. */
  readonly every: number;
  /** Returns the partitions assigned now. */
  works(): Iterable<PartitionWork>;
  /** Called when a commit failed and will be retried. */
  failed(error: Error): void;
}

/** Commits all partitions whose watermark has moved, one commit at a time. Pauses while the group accepts no commits. */
export class Committer {
  private timer: Timer | undefined;
  private committing: Promise<void> | undefined;
  private held = true;
  /** Number of rebalances seen. */
  private shares = 0;
  private stopped = false;
  private last = -Infinity;

  constructor(
    private readonly member: Pick<LogMember, 'commit'>,
    private readonly clock: Clock,
    private readonly options: CommitterOptions,
  ) {}

  /** Called when a watermark may have moved. */
  readonly moved = (): void => {
    if (this.timer || this.committing || this.held || this.stopped) return;
    const wait = Math.max(0, this.last + this.options.every - this.clock.now());
    this.timer = this.clock.after(wait, () => {
      this.timer = undefined;
      void this.commit();
    });
  };

  /** Resolves once no commit is pending. Never rejects. */
  async settled(): Promise<void> {
    await this.committing;
  }

  /** Commits what is handled, immediately. Never rejects. */
  async flush(): Promise<void> {
    this.timer?.cancel();
    this.timer = undefined;
    await this.committing;
    await this.commit();
  }

  /** Called when a rebalance is over, so that the group accepts commits again. */
  release(): void {
    this.shares++;
    this.held = false;
    this.moved();
  }

  /** Commits what is handled, immediately, and nothing afterwards. Idempotent. */
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
          else if (shares === this.shares) this.held = true; // until the next assignment
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
  // A transaction may be committing offsets ahead of those this process has marked as handled.
  return !inTransaction && watermark !== undefined && (committed === undefined || watermark > committed);
}
