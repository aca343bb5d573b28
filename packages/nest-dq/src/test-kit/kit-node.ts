import type { Duplex } from 'node:stream';
import { InProcessNode } from '../embedded/in-process-node.js';
import type { Clock, Timer } from 'nest-handlers/time';

/** Milliseconds. A shorter timer is a pause before the next try, or waits for a node that does not answer. */
const SHORT = 500;

/** An embedded node that can be out of reach: its time goes on then, and it keeps what it has. */
export class KitNode {
  readonly node: InProcessNode;
  /** For the clients of the node. No time passes for a node that sleeps, or an add would wait for the test to move the clock. */
  readonly clock: Clock;
  private asleep = false;
  private readonly streams = new Set<Duplex>();

  constructor(clock: Clock) {
    this.node = new InProcessNode(clock);
    this.clock = {
      wall: () => clock.wall(),
      now: () => clock.now(),
      next: (callback) => clock.next(callback),
      soon: (callback) => clock.soon(callback),
      after: (delay, callback) =>
        this.asleep && delay <= SHORT ? atOnce(clock, callback) : clock.after(delay, callback),
    };
  }

  dial(): Duplex {
    const stream = this.node.dial();
    if (this.asleep) return stream.destroy(new Error('the node sleeps'));
    this.streams.add(stream);
    stream.once('close', () => this.streams.delete(stream));
    return stream;
  }

  /** Cuts all connections, which releases the jobs that were held. Idempotent. */
  sleep(): void {
    this.asleep = true;
    for (const stream of this.streams) stream.destroy();
  }

  wake(): void {
    this.asleep = false;
  }
}

function atOnce(clock: Clock, callback: () => void): Timer {
  let cancelled = false;
  clock.soon(() => {
    if (!cancelled) callback();
  });
  return { cancel: () => void (cancelled = true) };
}
