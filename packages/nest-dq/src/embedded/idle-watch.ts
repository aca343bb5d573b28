import type { Clock } from 'nest-handlers/time';
import { WakeTimer } from '../time/wake-timer.js';

/** A connection, as far as it may be idle. */
export interface MaybeIdle {
  /** Grows with all that its client sends, and with all the replies that it takes. */
  readonly moves: number;
  /** Whether the client may be silent now: it waits for the node. */
  readonly mayBeSilent: boolean;
  /** Ends it. */
  close(): void;
}

/** Looks at each connection so many times in the limit. */
const LOOKS = 4;

/**
 * Closes connections on which nothing moves. It looks at all of them now and then, which costs a command nothing; so a
 * connection is closed when the limit is over, and a quarter of it later at most.
 */
export class IdleWatch {
  private readonly connections = new Map<MaybeIdle, { moves: number; since: number }>();
  private readonly timer: WakeTimer;

  constructor(
    private readonly clock: Clock,
    /** Milliseconds. */
    private readonly limit: number,
  ) {
    this.timer = new WakeTimer(clock, () => this.look());
  }

  add(connection: MaybeIdle): void {
    this.connections.set(connection, { moves: connection.moves, since: this.clock.now() });
    this.timer.within(this.limit / LOOKS);
  }

  delete(connection: MaybeIdle): void {
    this.connections.delete(connection);
    if (this.connections.size === 0) this.timer.cancel();
  }

  private look(): void {
    const now = this.clock.now();
    for (const [connection, last] of this.connections) {
      if (connection.moves !== last.moves || connection.mayBeSilent) {
        last.moves = connection.moves;
        last.since = now;
      } else if (now - last.since >= this.limit) {
        connection.close();
      }
    }
    if (this.connections.size > 0) this.timer.within(this.limit / LOOKS);
  }
}
