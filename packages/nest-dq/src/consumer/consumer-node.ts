import type { BeanstalkError } from '../beanstalk/beanstalk-error.js';
import type { Reserved } from '../beanstalk/connection.js';
import type { ClusterNode } from '../cluster/cluster-node.js';
import { copyPriority } from '../copy-timing.js';
import { unwrap } from '../envelope.js';
import type { Clock, Timer } from '../time.js';
import { Delivery } from './delivery.js';
import { Lane, MOST_HELD, type LaneEvents } from './lane.js';

const MOST_LANES = 3;
const SMALLEST_BATCH = 4;
const LARGEST_BATCH = 256;
/** Milliseconds. */
const FIRST_REOPEN = 250;
const LONGEST_REOPEN = 5_000;
const POLL_WITHOUT_WAIT = 50;
const KICK_AFTER = 5_000;
/** Seconds. How often it is looked at whether a node has room again for the copies that are kept for it. */
const KEEP_FOR = 5;
/** Well below the time by which every primary surfaces early, so that nothing comes late by it. */
const REST = 5;

/** What one tube's consumer offers to its nodes. */
export interface Taker {
  /** How many more copies may be reserved now. */
  room(): number;
  /** True when it is so early that those behind it are in no hurry. */
  arrived(delivery: Delivery): boolean;
  /** All that was asked of a node is answered: what it did not use of the room is there for the others. */
  roomLeft(): void;
  lost(deliveries: Delivery[]): void;
  poison(node: ClusterNode, copyId: string, reason: string): void;
  nodeTrouble(node: ClusterNode, message: string): void;
}

/**
 * One beanstalkd and one tube: up to three lanes, of which one waits in a blocking reserve whenever the node is empty,
 * holding nothing, so that a new copy is seen at once while the others hold what is running:
 *
 * 1. Empty, room left, nobody waits: an idle lane waits; else, if there are fewer than three, a new one.
 * 2. The wait brings nothing: 1 again.
 * 3. It brings a copy, and another lane is idle or can be opened: the lane keeps it, and refills. If the copy is early,
 *    so are those behind it: the node rests for some milliseconds, and the refill then brings several for one question.
 * 4. Otherwise it gives the copy back with a delay of a second, so that nobody else takes it, and the lane that holds
 *    least takes it by its id, and refills.
 * 5. A refill asks for a batch of what is ready now; a full one is followed by a larger one, else the node is empty.
 * 6. A lane that holds nothing any more is idle: 1. When room opens, the lane that holds least refills.
 * 7. A lane whose connection is lost forgets its deliveries; it is opened again once the node's control connection is up.
 *    One that the node never answered on is told of, and the pauses between the tries grow.
 */
export class ConsumerNode implements LaneEvents {
  private lanes: Lane[] = [];
  private waiter: Lane | undefined;
  private active = false;
  /** The last question said that nothing is ready, and nobody stopped asking since. */
  private empty = false;
  private batch = SMALLEST_BATCH;
  /** Reserves that are sent and not answered, without the blocking one. */
  private outstanding = 0;
  private stopListening: (() => void) | undefined;
  private polling = false;
  private resting = false;
  /** A lane was lost a moment ago: the control connection may not have noticed yet that the node is gone. */
  private reopening = false;
  /** Milliseconds: after that long a lane that is lost now is opened again. */
  private reopenAfter = FIRST_REOPEN;
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly node: ClusterNode,
    private readonly tube: string,
    private readonly clock: Clock,
    private readonly taker: Taker,
  ) {}

  /** Reserves without a reply: they count against the room. */
  get asked(): number {
    return this.outstanding;
  }

  /** Begins, or goes on, to reserve. Idempotent. */
  start(): void {
    this.active = true;
    this.stopListening ??= this.node.listen({ up: () => this.cameUp() });
    this.node.start();
    this.askAgain();
  }

  /** No more questions; what an open wait still brings arrives all the same. */
  pause(): void {
    this.active = false;
  }

  /** No more questions and no open wait; what is held stays held. */
  stop(): void {
    this.active = false;
    this.stopListening?.();
    this.stopListening = undefined;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    this.polling = false;
    this.resting = false;
    this.waiter?.close();
    this.node.lanes.done(this.tube);
  }

  /** Ends the lanes once the server has answered all that was said; resolves when they are gone. */
  async close(): Promise<void> {
    this.stop();
    for (const lane of this.lanes) lane.quit();
    await Promise.all(this.lanes.map((lane) => lane.gone));
  }

  touchAll(): void {
    for (const lane of this.lanes) lane.touchAll();
  }

  /** Rules 1, 5 and 6: asks for more if there is room. To be called whenever something changed. */
  advance(): void {
    if (!this.active || !this.node.up || this.resting) return;
    const room = this.taker.room();
    if (room <= 0) {
      if (!this.waiter) this.empty = false;
      return;
    }
    if (!this.empty) return this.refill(room);
    if (this.waiter) return;
    const lane = this.lanes.find(({ idle }) => idle);
    if (lane) return this.wait(lane);
    this.openLane();
    this.poll();
  }

  opened(): void {
    this.reopenAfter = FIRST_REOPEN;
    this.node.lanes.done(this.tube);
    this.advance();
  }

  refused(error: BeanstalkError): void {
    this.node.lanes.refused(this.tube, error);
  }

  freed(): void {
    this.advance();
  }

  lost(deliveries: Delivery[]): void {
    this.taker.lost(deliveries);
  }

  strayed(copyId: string): void {
    this.taker.nodeTrouble(
      this.node,
      `a release was answered BURIED (out of memory, or the log cannot be written)`,
    );
    this.later(KICK_AFTER, () => this.node.kickJob(copyId));
  }

  get full(): boolean {
    return this.node.full;
  }

  keep(delivery: Delivery, seconds: number): void {
    const wait = Math.min(KEEP_FOR, seconds);
    this.later(wait * 1_000, () => {
      if (this.full && seconds > wait) this.keep(delivery, seconds - wait);
      else delivery.release(0);
    });
  }

  stranded({ code }: BeanstalkError): void {
    this.node.refused(code);
    this.taker.nodeTrouble(
      this.node,
      `it refused to take a copy back (${code}), which is out of reach until it is restarted: make room on its disk, then restart it`,
    );
  }

  private wait(lane: Lane): void {
    this.waiter = lane;
    lane.wait((reserved) => {
      this.waiter = undefined;
      if (reserved) {
        this.empty = false;
        this.awaited(lane, reserved);
      }
      this.advance();
    });
  }

  /** Rules 3 and 4. */
  private awaited(lane: Lane, reserved: Reserved): void {
    const another =
      this.lanes.length < MOST_LANES || this.lanes.some((other) => other !== lane && isFree(other));
    const holder = another
      ? undefined
      : this.leastHolding((other) => other !== lane && other.held < MOST_HELD);
    if (!holder) return this.acceptAwaited(lane, reserved);
    const envelope = unwrap(reserved.body);
    if (typeof envelope === 'string') return this.acceptAwaited(lane, reserved);
    const { priority, due, index } = envelope.header;
    this.outstanding++;
    lane.putBack(reserved.id, copyPriority(priority, due, index), 1, (released) => {
      if (!released) return this.answered();
      holder.take(reserved.id, (taken) => {
        if (taken) this.acceptAwaited(holder, taken);
        this.answered();
      });
    });
  }

  private refill(room: number): void {
    if (this.outstanding > 0) return; // its answers call again
    const lane = this.refillLane();
    if (!lane) return this.poll();
    const count = Math.min(this.batch, room, MOST_HELD - lane.held);
    const whole = count === this.batch;
    let got = 0;
    let answered = 0;
    this.outstanding += count;
    lane.refill(count, (reserved) => {
      if (reserved) {
        got++;
        this.accept(lane, reserved);
      }
      if (++answered === count && !lane.closed) {
        this.empty = got < count;
        if (this.empty) this.batch = SMALLEST_BATCH;
        else if (whole) this.batch = Math.min(LARGEST_BATCH, this.batch * 2);
      }
      this.answered();
    });
  }

  private answered(): void {
    if (--this.outstanding > 0) return;
    this.advance();
    this.taker.roomLeft();
  }

  /** The lane that holds least, but not the last one that could still wait while another can take more. */
  private refillLane(): Lane | undefined {
    const free = this.lanes.filter(isFree).length;
    const spare = this.lanes.length < MOST_LANES || free > 1;
    const holder = this.leastHolding((lane) => lane.held < MOST_HELD && (spare || !lane.idle));
    if (holder) return holder;
    this.openLane();
    return this.opening ? undefined : this.leastHolding((lane) => lane.held < MOST_HELD);
  }

  private leastHolding(fits: (lane: Lane) => boolean): Lane | undefined {
    let least: Lane | undefined;
    for (const lane of this.lanes) {
      if (!lane.opening && !lane.waiting && !lane.closed && fits(lane) && (!least || lane.held < least.held))
        least = lane;
    }
    return least;
  }

  private get opening(): boolean {
    return this.lanes.some(({ opening }) => opening);
  }

  /** One more lane, if there may be one; it advances once it is open. */
  private openLane(): void {
    if (this.lanes.length >= MOST_LANES || this.reopening) return;
    if (this.lanes.some(({ opening, closed }) => opening || closed)) return;
    const instance = this.node.instance ?? '';
    const connection = this.node.connectLane((reason) => {
      this.lanes = this.lanes.filter((other) => other !== lane);
      this.reopening = true;
      lane.forget();
      this.later(this.reopenAfter, () => this.reopen());
      if (!lane.opening) return;
      // A node at its limit of open files spends its time on refusing: it is not to be asked more and more.
      this.reopenAfter = Math.min(LONGEST_REOPEN, 2 * this.reopenAfter);
      if (reason.code !== 'CLOSED' && this.node.up) this.refused(reason);
    });
    if (!connection) return;
    const lane = new Lane(connection, instance, this.tube, this);
    this.lanes.push(lane);
  }

  private acceptAwaited(lane: Lane, reserved: Reserved): void {
    if (this.accept(lane, reserved)) this.rest();
  }

  /** True when those behind it are in no hurry. */
  private accept(lane: Lane, { id, body }: Reserved): boolean {
    const envelope = unwrap(body);
    if (typeof envelope === 'string') {
      lane.buryBody(id, () => this.taker.poison(this.node, id, envelope));
      return false;
    }
    const delivery = new Delivery(this.node, lane, id, body, envelope);
    lane.hold(delivery);
    return this.taker.arrived(delivery);
  }

  private rest(): void {
    if (this.resting) return;
    this.resting = true;
    this.later(REST, () => {
      this.resting = false;
      this.advance();
    });
  }

  /** Every lane holds something or is full, so none can wait. Where there is no lane, opening one asks again. */
  private poll(): void {
    if (this.polling || this.opening || this.lanes.length === 0) return;
    this.polling = true;
    this.later(POLL_WITHOUT_WAIT, () => {
      this.polling = false;
      this.askAgain();
    });
  }

  /** A wait from before may hang on a connection that is dead, and holds nothing. */
  private cameUp(): void {
    this.waiter?.close();
    this.reopen();
  }

  private reopen(): void {
    this.reopening = false;
    this.askAgain();
  }

  private askAgain(): void {
    if (!this.waiter) this.empty = false; // an open wait is the question
    this.advance();
  }

  private later(ms: number, callback: () => void): void {
    if (!this.stopListening) return;
    const timer = this.clock.after(ms, () => {
      this.timers.delete(timer);
      callback();
    });
    this.timers.add(timer);
  }
}

/** It can wait, or soon will. */
function isFree({ idle, opening }: Lane): boolean {
  return idle || opening;
}
