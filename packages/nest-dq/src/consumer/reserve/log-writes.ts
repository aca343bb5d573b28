import type { Delivery, Holder } from './delivery.js';

const LARGEST_BATCH = 64;

/** A command that the server notes in its log. */
interface LogWrite {
  readonly delivery: Delivery;
  /** How long the copy stays in hand where the server has no room. */
  readonly seconds: number;
  /** `taken`: the server did it. */
  readonly send: (done: (taken: boolean) => void) => void;
  readonly keep: (delivery: Delivery, seconds: number) => void;
}

/**
 * Releases with a delay, and burials: a server without room for its log refuses them, and by then nobody can reach the
 * copy until it is restarted ◆. So they go in batches that begin with one, and double while all are taken; and where it
 * is known that there is no room, the copies stay in hand. One for all lanes to a node.
 */
export class LogWrites {
  private queue: LogWrite[] = [];
  private batch = 1;
  private open = 0;

  constructor(
    /** `full`: the server has no room for the next file of its log. */
    private readonly node: { readonly full: boolean },
  ) {}

  /** The server has no room to note a release or a burial. */
  get full(): boolean {
    return this.node.full;
  }

  add(write: LogWrite): void {
    this.queue.push(write);
    if (this.open === 0) this.next();
  }

  /** Sends all that waits for a lane, at once. */
  flush(lane: Holder): void {
    const own = this.queue.filter(({ delivery }) => delivery.lane === lane);
    this.queue = this.queue.filter(({ delivery }) => delivery.lane !== lane);
    if (this.node.full) keepAll(own);
    else this.sendAll(own);
  }

  private next(): void {
    const { queue } = this;
    if (queue.length === 0) {
      this.batch = 1;
    } else if (this.node.full) {
      this.queue = [];
      keepAll(queue);
    } else {
      const batch = queue.splice(0, this.batch);
      this.batch = Math.min(LARGEST_BATCH, this.batch * 2);
      this.sendAll(batch);
    }
  }

  private sendAll(writes: readonly LogWrite[]): void {
    this.open += writes.length;
    for (const { delivery, send } of writes) {
      if (delivery.held) send((taken) => this.answered(taken));
      else this.answered(true); // let go meanwhile
    }
  }

  private answered(taken: boolean): void {
    if (!taken) this.batch = 1;
    if (--this.open === 0) this.next();
  }
}

function keepAll(writes: readonly LogWrite[]): void {
  for (const { delivery, seconds, keep } of writes) keep(delivery, seconds);
}
