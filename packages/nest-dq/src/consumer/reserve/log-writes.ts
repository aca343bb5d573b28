// ◆ marks a rule of docs/internals/delivery.md.
import type { Delivery, Holder } from './delivery.js';

const LARGEST_BATCH = 64;

/** A command that the server writes to its log. */
export interface LogWrite {
  readonly delivery: Delivery;
  /** Sends the command. `taken` is true if the server executed it. */
  readonly send: (done: (taken: boolean) => void) => void;
  /** Called instead of `send` if the server has no room. */
  readonly postpone: () => void;
  /** Called instead of `send` if the delivery is no longer held. */
  readonly drop: () => void;
}

/**
 * Sends delayed releases and burials. A server without room for its log refuses them, and then the copy is unreachable until the
 * server restarts ◆. So the first batch is a single command, and batches double in size as long as the server accepts everything.
 * While a node is known to have no room, copies stay held. All lanes to a node share one instance.
 */
export class LogWrites {
  private queue: LogWrite[] = [];
  private batch = 1;
  private open = 0;

  constructor(
    /** `full` is true if the server has no room for the next file of its log. */
    private readonly node: { readonly full: boolean },
  ) {}

  /** Whether the server has no room to log a release or a burial. */
  get full(): boolean {
    return this.node.full;
  }

  add(write: LogWrite): void {
    this.queue.push(write);
    if (this.open === 0) this.next();
  }

  /** Immediately sends everything queued for a lane. */
  flush(lane: Holder): void {
    const own = this.queue.filter(({ delivery }) => delivery.lane === lane);
    this.queue = this.queue.filter(({ delivery }) => delivery.lane !== lane);
    if (this.node.full) postponeAll(own);
    else this.sendAll(own);
  }

  private next(): void {
    const { queue } = this;
    if (queue.length === 0) {
      this.batch = 1;
    } else if (this.node.full) {
      this.queue = [];
      postponeAll(queue);
    } else {
      const batch = queue.splice(0, this.batch);
      this.batch = Math.min(LARGEST_BATCH, this.batch * 2);
      this.sendAll(batch);
    }
  }

  private sendAll(writes: readonly LogWrite[]): void {
    this.open += writes.length;
    for (const { delivery, send, drop } of writes) {
      if (delivery.held) {
        send((taken) => this.answered(taken));
      } else {
        drop();
        this.answered(true);
      }
    }
  }

  private answered(taken: boolean): void {
    if (!taken) this.batch = 1;
    if (--this.open === 0) this.next();
  }
}

function postponeAll(writes: readonly LogWrite[]): void {
  for (const { postpone } of writes) postpone();
}
