import type { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import type { Connection, Reserved, Stats } from '../../beanstalk/connection.js';
import type { Delivery, Taker } from './delivery.js';
import type { LogWrite, LogWrites } from './log-writes.js';

/** Max copies held by one connection: each delete and touch costs the server O(held). */
export const MAX_HELD = 1_024;

/** Timeout of a blocking reserve, in seconds. It can't be cancelled, and an idle connection should send something now and then. */
const WAIT_SECONDS = 5;

export interface LaneEvents {
  /** The lane now watches exactly the requested tubes. */
  opened(): void;
  /** The server refused a `watch` or an `ignore`, so the lane is closed. */
  refused(error: BeanstalkError): void;
  /** The lane no longer holds anything, so it can wait again. */
  freed(): void;
  /** A release was answered BURIED: the copy is unreachable until it is kicked. */
  releaseBuried(copyId: string): void;
  /** The server has no room to log the command, so the copy stays held for `seconds`. */
  postponed(delivery: Delivery, seconds: number): void;
  /** The server refused a release or a burial: the copy is unreachable until the server restarts. */
  writeRefused(error: BeanstalkError): void;
}

/**
 * One connection that reserves. It can do nothing else while it waits in a blocking reserve, so a lane that holds deliveries never
 * waits. It also sends the commands for its deliveries: the server accepts them only from the connection that reserved the copy.
 */
export class Lane {
  /** Whether it doesn't reserve yet: a new connection watches `default`, which may have jobs of other programs. */
  opening = true;
  /** Whether it is in a blocking reserve. */
  waiting = false;
  /** Resolves when the connection is closed. */
  readonly gone: Promise<void>;
  private readonly deliveries = new Map<string, Delivery>();
  private readonly watched = new Set(['default']);
  /** The set it was last asked to watch. */
  private asked: ReadonlySet<string> | undefined;
  /** Number of reserved copies that aren't held yet, because their tube is unknown. */
  private unknown = 0;
  private resolveGone!: () => void;

  constructor(
    private readonly connection: Connection,
    /** The server's `id` when the lane was opened. */
    readonly instance: string,
    private readonly logWrites: LogWrites,
    private readonly events: LaneEvents,
  ) {
    this.gone = new Promise((resolve) => (this.resolveGone = resolve));
  }

  /** Number of deliveries it holds. */
  get held(): number {
    return this.deliveries.size;
  }

  get idle(): boolean {
    return !this.opening && !this.waiting && !this.closed && this.deliveries.size === 0 && this.unknown === 0;
  }

  /** Whether it can wait now or soon. */
  get free(): boolean {
    return this.idle || this.opening;
  }

  /** Whether it no longer answers. Its deliveries may not be forgotten yet. */
  get closed(): boolean {
    return this.connection.closed;
  }

  /**
   * The tube of every copy that a reserve sent now can bring; undefined if the lane watches several. Watching a tube later doesn't
   * change that, because the server handles the commands of a connection in order.
   */
  get onlyTube(): string | undefined {
    return this.watched.size === 1 ? Array.from(this.watched)[0] : undefined;
  }

  watches(tube: string): boolean {
    return this.watched.has(tube);
  }

  /** Returns true if it watches exactly these tubes, false if it soon will, which `opened` reports. The set must never change. */
  watch(tubes: ReadonlySet<string>): boolean {
    if (tubes === this.asked && !this.opening) return true; // compared by identity, since there may be thousands
    this.asked = tubes;
    const more = Array.from(tubes).filter((tube) => !this.watched.has(tube));
    const less = Array.from(this.watched).filter((tube) => !tubes.has(tube));
    if (more.length + less.length === 0) {
      if (!this.opening) return true;
      more.push('default'); // a new connection that watches nothing else: an answer is needed all the same
    }
    let left = more.length + less.length;
    this.opening = true;
    const answered = (error: BeanstalkError | undefined) => {
      if (error) this.refused(error);
      else if (--left === 0) this.opened();
    };
    for (const tube of more) this.connection.watch(tube, answered);
    for (const tube of less) this.connection.ignore(tube, answered);
    for (const tube of more) this.watched.add(tube);
    for (const tube of less) this.watched.delete(tube);
    return false;
  }

  holds(delivery: Delivery): boolean {
    return this.deliveries.get(delivery.copyId) === delivery;
  }

  hold(delivery: Delivery): void {
    this.deliveries.set(delivery.copyId, delivery);
  }

  /** Waits some seconds for one copy. Calls back with undefined if none came, or the lane is closed. */
  wait(done: (reserved: Reserved | undefined) => void): void {
    this.waiting = true;
    this.connection.reserveWithTimeout(WAIT_SECONDS, (error, reply) => {
      this.waiting = false;
      done(error || typeof reply === 'string' ? undefined : reply);
    });
  }

  /** Asks for `count` copies that are ready now. Calls `each` for every reply, with undefined if there are no more. */
  refill(count: number, each: (reserved: Reserved | undefined) => void): void {
    for (let i = 0; i < count; i++) {
      this.connection.reserveWithTimeout(0, (error, reply) => {
        if (error) return each(undefined);
        if (reply === 'DEADLINE_SOON') this.touchAll();
        each(typeof reply === 'string' ? undefined : reply);
      });
    }
  }

  /** Asks for the tube of a copy it has reserved; the lane isn't idle until the answer. Calls back with undefined if the lane is closed. */
  statsOf(copyId: string, done: (stats: Stats | undefined) => void): void {
    this.unknown++;
    this.connection.statsJob(copyId, (error, reply) => {
      this.unknown--;
      done(error || reply === 'NOT_FOUND' ? undefined : reply);
    });
  }

  /** Reserves one copy by its id. Calls back with undefined if another connection has it. */
  take(copyId: string, done: (reserved: Reserved | undefined) => void): void {
    this.connection.reserveJob(copyId, (error, reply) =>
      done(error || reply === 'NOT_FOUND' ? undefined : reply),
    );
  }

  /** Releases a reserved copy that was never held, after `delay` whole seconds. */
  releaseReserved(copyId: string, priority: number, delay: number, done: (released: boolean) => void): void {
    this.connection.release(copyId, priority, this.logWrites.full ? 0 : delay, (error, reply) => {
      if (reply === 'BURIED') this.events.releaseBuried(copyId);
      if (error) this.failed(error);
      done(!error && reply === 'RELEASED');
    });
  }

  /** Releases a copy to any process, after `delay` whole seconds. */
  release(delivery: Delivery, delay: number): void {
    if (!this.holds(delivery)) return;
    const send = (done: (taken: boolean) => void) => {
      this.releaseReserved(delivery.copyId, delivery.priority, delay, done);
      this.unhold(delivery);
    };
    if (delay === 0) send(nothing);
    else this.write(delivery, delay, send, nothing);
  }

  /** Buries a copy, so that nobody reserves it until a person has looked at it. */
  bury(delivery: Delivery, done: (asked: boolean) => void): void {
    if (!this.holds(delivery)) return done(false);
    const send = (taken: (taken: boolean) => void) => {
      this.connection.bury(delivery.copyId, delivery.priority, (error) => {
        if (error) this.failed(error);
        taken(!error);
        done(true);
      });
      this.unhold(delivery);
    };
    this.write(delivery, Infinity, send, () => done(false));
  }

  /** Buries a reserved copy whose body isn't an envelope. */
  buryBody(copyId: string, done: () => void): void {
    this.connection.bury(copyId, 0, (error) => {
      if (error) this.failed(error);
      done();
    });
  }

  /** Deletes a copy. Calls back with true if the server answered DELETED. */
  delete(delivery: Delivery, done: (deleted: boolean) => void): void {
    this.connection.delete(delivery.copyId, (error, reply) => done(!error && reply === 'DELETED'));
    this.unhold(delivery);
  }

  /** Immediately releases everything held for one taker. */
  releaseAll(of: Taker): void {
    for (const delivery of Array.from(this.deliveries.values()))
      if (delivery.taker === of) delivery.release(0);
  }

  /** Renews the time to run of everything held, or of what is held for one taker. */
  touchAll(of?: Taker): void {
    for (const delivery of this.deliveries.values()) {
      if (of && delivery.taker !== of) continue;
      this.connection.touch(delivery.copyId, (error, reply) => {
        if (error || reply === 'TOUCHED' || !this.holds(delivery)) return;
        this.unhold(delivery);
        delivery.taker.lost(delivery);
      });
    }
  }

  /** Closes immediately. The server makes the held copies ready again. */
  close(): void {
    this.connection.close();
  }

  /** Closes once the server has answered all commands. */
  quit(): void {
    this.logWrites.flush(this);
    this.connection.quit();
  }

  /** Call this when the connection has closed: the lane then holds nothing. */
  forget(): void {
    this.resolveGone();
    const lost = [...this.deliveries.values()];
    this.deliveries.clear();
    for (const delivery of lost) delivery.taker.lost(delivery);
  }

  /** Sends a command that the server writes to its log. If the log has no room, the copy stays held for `seconds`. */
  private write(delivery: Delivery, seconds: number, send: LogWrite['send'], unsent: () => void): void {
    const postpone = () => {
      this.events.postponed(delivery, seconds);
      unsent();
    };
    this.logWrites.add({ delivery, send, postpone, drop: unsent });
  }

  private opened(): void {
    this.opening = false;
    this.events.opened();
  }

  private refused(error: BeanstalkError): void {
    if (this.closed) return; // the connection was lost: the server refused nothing
    this.connection.close();
    this.events.refused(error);
  }

  private failed(error: BeanstalkError): void {
    if (error.code === 'OUT_OF_MEMORY' || error.code === 'INTERNAL_ERROR') this.events.writeRefused(error);
  }

  private unhold(delivery: Delivery): void {
    this.deliveries.delete(delivery.copyId);
    delivery.fold();
    if (this.deliveries.size === 0) this.events.freed();
  }
}

/** Nothing follows a release: if it fails, the connection is closed, and `forget` handles that. */
function nothing(): void {}
