import type { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import { copyPriority } from '../../copies/timing.js';
import { openHeaderOf } from '../../copies/formats/unwrap.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { ConsumerReport } from '../report.js';
import type { Delivery, Taker } from './delivery.js';
import { Lane, type LaneEvents, MAX_HELD } from './lane.js';
import type { LogWrites } from './log-writes.js';

/** Pause before a lane is reopened; doubles from the first to the longest. */
const FIRST_REOPEN_MS = 250;
const LONGEST_REOPEN_MS = 5_000;
/** Delay before kicking a copy whose release was answered BURIED. */
const KICK_AFTER_MS = 5_000;
/** How often postponed releases check whether the node has room again. */
const CHECK_ROOM_EVERY_S = 5;

/**
 * Up to `most` lanes to one node, as far as the limit allows. One of them waits, holding nothing, whenever the user wants to wait:
 *
 * 1. A wait begins on an idle lane, which first watches the user's tubes. If none is idle, a new one is opened.
 * 2. The wait brings nothing: the user of the lanes decides what follows.
 * 3. The wait brings a copy, and another lane is free or can be opened: this lane holds the copy.
 * 4. Otherwise, this lane releases the copy with a delay of a second, so that no other process takes it, and the lane that holds
 *    the fewest copies reserves it by its id.
 * 5. A lane that loses its connection forgets its deliveries. It is reopened once the node's control connection is up. If the
 *    node doesn't answer on a new connection, that is reported, and the pauses between attempts grow.
 */
export class Lanes implements LaneEvents {
  private lanes: Lane[] = [];
  /** The lane of the last `wait`. Another lane may still wait for the earlier set of tubes. */
  private waiter: Lane | undefined;
  /** Number of reserves without a reply, except waits: copies being moved from one lane to another. */
  asked = 0;
  private stopListening: (() => void) | undefined;
  /** Whether a lane was just lost or couldn't be opened. The control connection may not know yet that the node is unreachable. */
  paused = false;
  private reopenAfter = FIRST_REOPEN_MS;
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly node: ClusterNode,
    private readonly logWrites: LogWrites,
    private readonly clock: Clock,
    private readonly report: Pick<ConsumerReport, 'nodeTrouble'>,
    private readonly most: number,
    private readonly user: LanesUser,
    /** Shared limit on the lanes of several users. @default none */
    private readonly limit?: LaneLimit,
  ) {}

  get waiting(): boolean {
    return this.waiter !== undefined;
  }

  get opening(): boolean {
    return this.lanes.some(({ opening }) => opening);
  }

  get none(): boolean {
    return this.lanes.length === 0;
  }

  /** Whether it has no lane, and other users have used up the limit. */
  get crowdedOut(): boolean {
    return this.none && this.limit?.allows(0) === false;
  }

  get held(): number {
    return this.lanes.reduce((sum, { held }) => sum + held, 0);
  }

  /** Idempotent. */
  start(): void {
    this.stopListening ??= this.node.listen({
      up: () => {
        this.endWaits();
        this.reopen();
      },
    });
    this.node.start();
  }

  /** Ends all waits. Held copies stay held. Idempotent. */
  stop(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    this.paused = false;
    for (const tube of this.user.tubes) this.node.lanes.done(tube);
    this.endWaits();
  }

  /** Closes the lanes once the server has answered all commands. Resolves when they are closed. */
  async close(): Promise<void> {
    this.stop();
    for (const lane of this.lanes) lane.quit();
    await Promise.all(this.lanes.map((lane) => lane.gone));
  }

  /** Closes the lanes that hold nothing. */
  drop(): void {
    this.endWaits();
    for (const lane of this.lanes) if (lane.idle) lane.quit();
    this.lanes = this.lanes.filter(({ idle }) => !idle);
  }

  touchAll(of?: Taker): void {
    for (const lane of this.lanes) lane.touchAll(of);
  }

  releaseAll(of: Taker): void {
    for (const lane of this.lanes) lane.releaseAll(of);
  }

  /** Whether the current wait also covers this tube. */
  waitsFor(tube: string): boolean {
    return this.waiter?.watches(tube) === true;
  }

  /** Rule 1. Returns `later` if a lane is being prepared; `free` reports when it is ready. */
  wait(): 'waits' | 'later' | 'none' {
    const lane = this.lanes.find(({ idle }) => idle);
    if (!lane) return this.open() ? 'later' : 'none';
    if (!lane.watch(this.user.tubes)) return 'later';
    this.waiter = lane;
    const tube = lane.onlyTube;
    lane.wait((reserved) => {
      if (this.waiter === lane) this.waiter = undefined;
      if (reserved) this.awaited(lane, reserved, tube);
      this.user.changed(reserved ? 'brought' : 'nothing');
    });
    return 'waits';
  }

  /**
   * Asks for at most `most` copies that are ready now, fewer if the lane can't hold them. Returns false if no lane can ask. Calls
   * `done` with how many were asked for and how many came.
   */
  refill(most: number, done: (asked: number, got: number) => void): boolean {
    const lane = this.refillLane();
    if (!lane?.watch(this.user.tubes)) return false;
    const tube = lane.onlyTube;
    const count = Math.min(most, MAX_HELD - lane.held);
    let [answered, got] = [0, 0];
    lane.refill(count, (reserved) => {
      if (reserved) {
        got++;
        this.user.awaited(lane, reserved, tube);
      }
      if (++answered === count) done(count, got);
    });
    return true;
  }

  /** Returns the lane that holds the fewest copies. The last lane that can wait stays free while another lane can hold more. */
  refillLane(): Lane | undefined {
    const free = this.lanes.filter(({ free }) => free).length;
    const spare = this.mayOpen || free > 1;
    const holder = this.leastHolding((lane) => spare || !lane.idle);
    if (holder) return holder;
    return this.open() ? undefined : this.leastHolding();
  }

  /** Closes the lanes that wait, which hold nothing: a wait from before the node became unreachable may be on a dead connection. */
  endWaits(): void {
    for (const lane of Array.from(this.lanes)) if (lane.waiting) lane.close();
  }

  opened(): void {
    this.reopenAfter = FIRST_REOPEN_MS;
    for (const tube of this.user.tubes) this.node.lanes.done(tube);
    this.user.changed('free');
  }

  refused(error: BeanstalkError): void {
    if (!this.stopListening) return; // the lane is no longer needed
    for (const tube of this.user.tubes) this.node.lanes.refused(tube, error);
  }

  freed(): void {
    this.user.changed('free');
  }

  releaseBuried(copyId: string): void {
    this.reportTrouble(`a release was answered with BURIED (out of memory, or the binlog cannot be written)`);
    this.later(KICK_AFTER_MS, () => this.node.kickJob(copyId));
  }

  postponed(delivery: Delivery, seconds: number): void {
    const wait = Math.min(CHECK_ROOM_EVERY_S, seconds);
    this.later(wait * 1_000, () => {
      if (this.node.full && seconds > wait) this.postponed(delivery, seconds - wait);
      else delivery.release(0);
    });
  }

  writeRefused({ code }: BeanstalkError): void {
    this.node.refused(code);
    this.reportTrouble(
      `it refused to take back a copy (${code}), which is unreachable until a restart: free up space on its disk, then restart it`,
    );
  }

  /** Rules 3 and 4. */
  private awaited(lane: Lane, reserved: Reserved, tube: string | undefined): void {
    const another = this.mayOpen || this.lanes.some((other) => other !== lane && other.free);
    const holder = another ? undefined : this.leastHolding((other) => other !== lane);
    const header = holder && openHeaderOf(reserved.body);
    if (!header) return this.user.awaited(lane, reserved, tube);
    const { priority, due, index } = header;
    this.asked++;
    const moved = () => {
      this.asked--;
      this.user.changed('moved');
    };
    lane.releaseReserved(reserved.id, copyPriority(priority, due, index), 1, (released) => {
      if (!released) return moved();
      holder.take(reserved.id, (taken) => {
        if (taken) this.user.awaited(holder, taken, tube);
        moved();
      });
    });
  }

  private get mayOpen(): boolean {
    const { length } = this.lanes;
    return length < this.most && !this.paused && this.limit?.allows(length) !== false;
  }

  /** Returns the lane that holds the fewest copies, among those that can hold more now. */
  private leastHolding(fits: (lane: Lane) => boolean = () => true): Lane | undefined {
    let least: Lane | undefined;
    for (const lane of this.lanes) {
      const canHold = !lane.opening && !lane.waiting && !lane.closed && lane.held < MAX_HELD;
      if (canHold && fits(lane) && (!least || lane.held < least.held)) least = lane;
    }
    return least;
  }

  /** Returns true if a lane is being opened; `free` reports when it is ready. */
  private open(): boolean {
    if (this.opening) return true;
    if (!this.mayOpen || this.lanes.some(({ closed }) => closed)) return false;
    const instance = this.node.instance ?? '';
    const connection = this.node.connectLane((reason) => this.gone(lane, reason));
    if (!connection) return false;
    const lane = new Lane(connection, instance, this.logWrites, this);
    this.limit?.opened();
    this.lanes.push(lane);
    lane.watch(this.user.tubes);
    return true;
  }

  private gone(lane: Lane, reason: BeanstalkError): void {
    this.limit?.closed();
    this.lanes = this.lanes.filter((other) => other !== lane);
    const meant = reason.code === 'CLOSED' && !lane.opening;
    this.paused ||= !meant && this.stopListening !== undefined;
    lane.forget();
    if (!this.paused || meant) return;
    this.later(this.reopenAfter, () => this.reopen());
    if (!lane.opening) return;
    // A node at its limit of open files spends its time on refusals, so it is asked less often.
    this.reopenAfter = Math.min(LONGEST_REOPEN_MS, 2 * this.reopenAfter);
    if (reason.code !== 'CLOSED' && this.node.up) this.refused(reason);
    this.user.changed('notOpened');
  }

  private reportTrouble(message: string): void {
    this.report.nodeTrouble(this.node.endpoint, message);
  }

  private reopen(): void {
    this.paused = false;
    this.user.changed('reopen');
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

/**
 * Max lanes of busy tubes per node. Together with the lanes shared by all quiet tubes and the control connection, a process has
 * fewer than 50 connections to a node.
 */
const MAX = 40;
/** Number of open lanes from which no tube may open a second or third one. */
const MAX_FOR_FURTHER = 24;

/**
 * Limits the lanes of all busy tubes of a process to one node. A few busy tubes get three lanes each. With more of them, later
 * ones get one each, and then none, so that their copies arrive on the shared lanes.
 */
export class LaneLimit {
  private open = 0;

  /** Whether a tube with `has` lanes may open one more. */
  allows(has: number): boolean {
    return this.open < (has === 0 ? MAX : MAX_FOR_FURTHER);
  }

  opened(): void {
    this.open++;
  }

  closed(): void {
    this.open--;
  }
}

/** The user of lanes: one busy tube on a node (`ConsumerNode`), or all quiet ones (`SharedLanes`). */
export interface LanesUser {
  /** The tubes to reserve from: a set that never changes. Read whenever a lane asks. */
  readonly tubes: ReadonlySet<string>;
  /**
   * Called when a wait brought a copy, which this lane has now reserved. `tube`: the copy's tube; undefined if the wait watched
   * several.
   */
  awaited(lane: Lane, reserved: Reserved, tube: string | undefined): void;
  changed(change: LanesChange): void;
}

/**
 * `brought`: a wait ended with a copy; `awaited` came before. `nothing`: a wait ended without one. `moved`: the move of a copy to
 * another lane ended; that lane has it, or another process took it. `free`: a lane is open, or holds nothing any more. `notOpened`:
 * a lane couldn't be opened; `reopen` reports when to retry. `reopen`: lanes were lost, and may be reopened.
 */
export type LanesChange = 'brought' | 'nothing' | 'moved' | 'free' | 'notOpened' | 'reopen';
