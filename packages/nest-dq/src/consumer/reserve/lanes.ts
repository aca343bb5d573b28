import type { BeanstalkError } from '../../beanstalk/codec/beanstalk-error.js';
import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import { copyPriority } from '../../copies/timing.js';
import { unwrap } from '../../copies/formats/unwrap.js';
import type { Clock, Timer } from '../../time/clock.js';
import type { ConsumerReport } from '../report.js';
import type { Delivery, Taker } from './delivery.js';
import { Lane, MOST_HELD, type LaneEvents } from './lane.js';
import type { LogWrites } from './log-writes.js';

/** Milliseconds. The pause doubles from the first to the longest. */
const FIRST_REOPEN = 250;
const LONGEST_REOPEN = 5_000;
const KICK_AFTER = 5_000;
/** Seconds. How often it is looked at whether a node has room again for the copies that are kept for it. */
const KEEP_FOR = 5;

/** For whom lanes reserve. */
export interface LanesUser {
  /** What the lanes reserve from; looked at whenever one begins to wait. */
  readonly tubes: ReadonlySet<string>;
  /** A wait is over; `brought` is told of in `awaited`, before this. */
  waited(brought: boolean): void;
  /** A wait brought a copy, and it is this lane that has it reserved now. */
  awaited(lane: Lane, reserved: Reserved): void;
  /** A copy that a wait brought has been handed over to another lane, or somebody else has it. */
  handed(): void;
  /** A lane can reserve, or let go of all it held. */
  laneFree(): void;
  /** One could not be opened; it may be tried again once `reopen` comes. */
  notOpened(): void;
  /** Lanes were lost, and may be opened again. */
  reopen(): void;
}

/**
 * Up to so many lanes to one node, of which one waits, holding nothing, whenever the user wants it:
 *
 * 1. A wait begins on an idle lane that watches the user's tubes, or is made to; else on a new one, if there may be one.
 * 2. It brings nothing: the user decides.
 * 3. It brings a copy, and another lane is free or can be opened: the lane keeps it.
 * 4. Otherwise it gives the copy back with a delay of a second, so that nobody else takes it, and the lane that holds
 *    least takes it by its id.
 * 5. A lane whose connection is lost forgets its deliveries; one is opened again once the node's control connection is
 *    up. What the node never answered on is told of, and the pauses between the tries grow.
 */
export class Lanes implements LaneEvents {
  private lanes: Lane[] = [];
  /** That waits since the last `wait`: another one may still wait for what the user wanted before. */
  private waiter: Lane | undefined;
  /** Copies under way from one lane to another. */
  private handing = 0;
  private stopListening: (() => void) | undefined;
  /** One was lost, or could not be opened, a moment ago: the control connection may not know yet that the node is gone. */
  paused = false;
  private reopenAfter = FIRST_REOPEN;
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly node: ClusterNode,
    private readonly logWrites: LogWrites,
    private readonly clock: Clock,
    private readonly report: Pick<ConsumerReport, 'nodeTrouble'>,
    private readonly most: number,
    private readonly user: LanesUser,
  ) {}

  /** Reserves without a reply, but for those that wait. */
  get asked(): number {
    return this.handing;
  }

  get waiting(): boolean {
    return this.waiter !== undefined;
  }

  get opening(): boolean {
    return this.lanes.some(({ opening }) => opening);
  }

  get none(): boolean {
    return this.lanes.length === 0;
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

  /** No open wait; what is held stays held. Idempotent. */
  stop(): void {
    this.stopListening?.();
    this.stopListening = undefined;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    this.paused = false;
    for (const tube of this.user.tubes) this.node.lanes.done(tube);
    this.endWaits();
  }

  /** Ends them once the server has answered all that was said; resolves when they are gone. */
  async close(): Promise<void> {
    this.stop();
    for (const lane of this.lanes) lane.quit();
    await Promise.all(this.lanes.map((lane) => lane.gone));
  }

  /** Ends those that hold nothing. */
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

  /** The present wait would bring copies of the tube. */
  waitsFor(tube: string): boolean {
    return this.waiter?.watches(tube) === true;
  }

  /** Rule 1. `later`: a lane is made ready for it. */
  wait(): 'waits' | 'later' | 'none' {
    const lane = this.lanes.find(({ idle }) => idle);
    if (!lane) return this.open() ? 'later' : 'none';
    if (!lane.watch(this.user.tubes)) return 'later';
    this.waiter = lane;
    lane.wait((reserved) => {
      if (this.waiter === lane) this.waiter = undefined;
      if (reserved) this.awaited(lane, reserved);
      this.user.waited(reserved !== undefined);
    });
    return 'waits';
  }

  /** Instead of a wait, where no lane can: asks for one copy that is ready now. False: no lane can do that either. */
  poll(): boolean {
    const lane = this.leastHolding(({ held }) => held < MOST_HELD);
    if (!lane?.watch(this.user.tubes)) return false;
    lane.refill(1, (reserved) => {
      if (reserved) this.user.awaited(lane, reserved);
      this.user.waited(reserved !== undefined);
    });
    return true;
  }

  /** The lane that holds least, but not the last one that could still wait while another can take more. */
  refillLane(): Lane | undefined {
    const free = this.lanes.filter(({ free }) => free).length;
    const spare = this.mayOpen || free > 1;
    const holder = this.leastHolding((lane) => lane.held < MOST_HELD && (spare || !lane.idle));
    if (holder) return holder;
    return this.open() ? undefined : this.leastHolding((lane) => lane.held < MOST_HELD);
  }

  /** A wait from before the node was away may hang on a connection that is dead, and holds nothing. */
  endWaits(): void {
    for (const lane of Array.from(this.lanes)) if (lane.waiting) lane.close();
  }

  opened(): void {
    this.reopenAfter = FIRST_REOPEN;
    for (const tube of this.user.tubes) this.node.lanes.done(tube);
    this.user.laneFree();
  }

  refused(error: BeanstalkError): void {
    if (!this.stopListening) return; // nobody misses the lane any more
    for (const tube of this.user.tubes) this.node.lanes.refused(tube, error);
  }

  freed(): void {
    this.user.laneFree();
  }

  lost(deliveries: Delivery[]): void {
    for (const delivery of deliveries) delivery.taker.lost([delivery]);
  }

  strayed(copyId: string): void {
    this.tellTrouble(`a release was answered BURIED (out of memory, or the log cannot be written)`);
    this.later(KICK_AFTER, () => this.node.kickJob(copyId));
  }

  keep(delivery: Delivery, seconds: number): void {
    const wait = Math.min(KEEP_FOR, seconds);
    this.later(wait * 1_000, () => {
      if (this.node.full && seconds > wait) this.keep(delivery, seconds - wait);
      else delivery.release(0);
    });
  }

  stranded({ code }: BeanstalkError): void {
    this.node.refused(code);
    this.tellTrouble(
      `it refused to take a copy back (${code}), which is out of reach until it is restarted: make room on its disk, then restart it`,
    );
  }

  /** Rules 3 and 4. */
  private awaited(lane: Lane, reserved: Reserved): void {
    const another = this.mayOpen || this.lanes.some((other) => other !== lane && other.free);
    const holder = another
      ? undefined
      : this.leastHolding((other) => other !== lane && other.held < MOST_HELD);
    const envelope = holder && unwrap(reserved.body);
    if (!envelope || typeof envelope === 'string') return this.user.awaited(lane, reserved);
    const { priority, due, index } = envelope.header;
    this.handing++;
    const handed = () => {
      this.handing--;
      this.user.handed();
    };
    lane.putBack(reserved.id, copyPriority(priority, due, index), 1, (released) => {
      if (!released) return handed();
      holder.take(reserved.id, (taken) => {
        if (taken) this.user.awaited(holder, taken);
        handed();
      });
    });
  }

  private get mayOpen(): boolean {
    return this.lanes.length < this.most && !this.paused;
  }

  private leastHolding(fits: (lane: Lane) => boolean): Lane | undefined {
    let least: Lane | undefined;
    for (const lane of this.lanes) {
      if (!lane.opening && !lane.waiting && !lane.closed && fits(lane) && (!least || lane.held < least.held))
        least = lane;
    }
    return least;
  }

  /** True: one is being opened; `laneFree` tells. */
  private open(): boolean {
    if (this.opening) return true;
    if (!this.mayOpen || this.lanes.some(({ closed }) => closed)) return false;
    const instance = this.node.instance ?? '';
    const connection = this.node.connectLane((reason) => this.gone(lane, reason));
    if (!connection) return false;
    const lane = new Lane(connection, instance, this.logWrites, this);
    this.lanes.push(lane);
    lane.watch(this.user.tubes);
    return true;
  }

  private gone(lane: Lane, reason: BeanstalkError): void {
    this.lanes = this.lanes.filter((other) => other !== lane);
    const meant = reason.code === 'CLOSED' && !lane.opening;
    this.paused ||= !meant && this.stopListening !== undefined;
    lane.forget();
    if (!this.paused || meant) return;
    this.later(this.reopenAfter, () => this.reopen());
    if (!lane.opening) return;
    // A node at its limit of open files spends its time on refusing: it is not to be asked more and more.
    this.reopenAfter = Math.min(LONGEST_REOPEN, 2 * this.reopenAfter);
    if (reason.code !== 'CLOSED' && this.node.up) this.refused(reason);
    this.user.notOpened();
  }

  private tellTrouble(message: string): void {
    this.report.nodeTrouble(this.node.endpoint, message);
  }

  private reopen(): void {
    this.paused = false;
    this.user.reopen();
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
