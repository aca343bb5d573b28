import type { Delivery } from './delivery.js';

const LARGEST_BATCH = 64;

/** A command that the server notes in its log. */
interface LogWrite {
  readonly delivery: Delivery;
  /** How long the copy stays in hand where the server has no room. */
  readonly seconds: number;
  /** `taken`: the server did it. */
  readonly send: (done: (taken: boolean) => void) => void;
}

export interface LogWriteEvents {
  /** The server has no room for the next file of its log. */
  readonly full: boolean;
  keep(delivery: Delivery, seconds: number): void;
}

/**
 * Releases with a delay, and burials: a server without room for its log refuses them, and by then nobody can reach the
 * copy until it is restarted ◆. So they go in batches that begin with one, and double while all are taken; and where it
 * is known that there is no room, the copies stay in hand.
 */
export class LogWrites {
  private queue: LogWrite[] = [];
  private batch = 1;
  private open = 0;

  constructor(private readonly events: LogWriteEvents) {}

  add(write: LogWrite): void {
    this.queue.push(write);
    if (this.open === 0) this.next();
  }

  /** Sends all that waits, at once. */
  flush(): void {
    this.batch = Infinity;
    this.next();
  }

  private next(): void {
    const { queue } = this;
    if (queue.length === 0) {
      this.batch = 1;
    } else if (this.events.full) {
      this.queue = [];
      for (const { delivery, seconds } of queue) this.events.keep(delivery, seconds);
    } else {
      const batch = queue.splice(0, this.batch);
      this.batch = Math.min(LARGEST_BATCH, this.batch * 2);
      this.open += batch.length;
      for (const { delivery, send } of batch) {
        if (delivery.held) send((taken) => this.answered(taken));
        else this.answered(true); // let go meanwhile
      }
    }
  }

  private answered(taken: boolean): void {
    if (!taken) this.batch = 1;
    if (--this.open === 0) this.next();
  }
}
