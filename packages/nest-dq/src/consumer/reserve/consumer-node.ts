import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import { unwrap } from '../../copies/formats/unwrap.js';
import type { Timer } from '../../time/clock.js';
import type { TubeContext } from '../tube-context.js';
import { Delivery, type Taker } from './delivery.js';
import { MOST_HELD, type Lane } from './lane.js';
import { Lanes, type LanesUser } from './lanes.js';
import type { SharedLanes, SharedTube } from './shared-lanes.js';

const MOST_LANES = 3;
const SMALLEST_BATCH = 4;
const LARGEST_BATCH = 256;
/** Milliseconds. Two copies within that time make a tube a busy one. */
const OFTEN = 1_000;
/** Waits of five seconds that bring nothing make it a quiet one. */
const QUIET_WAITS = 2;
/** Milliseconds. */
const POLL_WITHOUT_WAIT = 50;
/** Well below the time by which every primary surfaces early, so that nothing comes late by it. */
const REST = 5;

/**
 * One beanstalkd and one tube. While it is quiet, the tube has no connection of its own: its copies are waited for on the
 * lanes that all quiet tubes of the process share (`shared-lanes.ts`). A busy one has up to three lanes (`lanes.ts`), of
 * which one waits whenever the node is empty, so that a new copy is seen at once while the others hold what is running:
 *
 * 1. Quiet: it shares. A second copy within a second, or one for which there is no room, makes it busy.
 * 2. Busy: it shares until a lane of its own is open. Where none can be opened it is quiet again, and then shares only
 *    while there is room.
 * 3. It asks for a batch of what is ready now; a full one is followed by a larger one, else the node is empty.
 * 4. Empty, room left, nobody waits: a lane waits. If what it brings is early, so are those behind it: the node rests for
 *    some milliseconds, and 3 then brings several for one question.
 * 5. When room opens, or a lane holds nothing any more: 3 or 4.
 * 6. Ten seconds without a copy, and nothing held: it shares, and once it is waited for there, it is quiet.
 */
export class ConsumerNode implements LanesUser, SharedTube {
  /** As the node knows it. */
  readonly tube: string;
  readonly tubes: ReadonlySet<string>;
  private readonly own: Lanes;
  private readonly shared: SharedLanes;
  private active = false;
  private busy = false;
  /** When a copy came over a shared lane. */
  private cameAt = -Infinity;
  private quietWaits = 0;
  /** The last question said that nothing is ready, and nobody stopped asking since. */
  private empty = false;
  private batch = SMALLEST_BATCH;
  /** Reserves of a batch that are not answered. */
  private outstanding = 0;
  private polling = false;
  private resting = false;
  private readonly timers = new Set<Timer>();

  constructor(
    private readonly context: Pick<TubeContext, 'tube' | 'storedAs' | 'clock' | 'report' | 'sharedLanes'>,
    private readonly node: ClusterNode,
    readonly taker: Taker,
  ) {
    const { clock, report, sharedLanes } = context;
    this.tube = context.storedAs;
    this.tubes = new Set([this.tube]);
    this.shared = sharedLanes.of(node);
    this.own = new Lanes(node, this.shared.logWrites, clock, report, MOST_LANES, this);
  }

  /** Reserves without a reply: they count against the room. */
  get asked(): number {
    return this.outstanding + this.own.asked;
  }

  /** Begins, or goes on, to reserve. Idempotent. */
  start(): void {
    this.active = true;
    this.own.start();
    this.shared.attach(this);
    this.reopen();
  }

  /** No more questions; what an open wait still brings arrives all the same. */
  pause(): void {
    this.active = false;
    this.shared.leave(this);
  }

  /** No more questions and no open wait; what is held stays held. */
  stop(): void {
    this.active = false;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
    this.polling = false;
    this.resting = false;
    this.own.stop();
    this.shared.detach(this);
  }

  /** Ends the lanes once the server has answered all that was said; resolves when they are gone. */
  async close(): Promise<void> {
    this.stop();
    await Promise.all([this.own.close(), this.shared.close(this)]);
  }

  touchAll(): void {
    this.own.touchAll();
    this.shared.touchAll(this);
  }

  /** Rules 1, 3 and 4: asks for more if there is room. To be called whenever something changed. */
  advance(): void {
    if (!this.active || !this.node.up || this.resting) return;
    const room = this.taker.room();
    if (!this.busy) {
      if (room <= 0 && this.own.paused) this.shared.leave(this);
      else this.shared.join(this, true);
      return;
    }
    if (room <= 0) {
      this.shared.leave(this);
      if (!this.own.waiting) this.empty = false;
      return;
    }
    if (!this.empty) return this.refill(room);
    if (this.own.waiting) return;
    if (this.own.wait() === 'none') this.poll();
  }

  /** It has so many copies that it needs lanes of its own. */
  becomeBusy(): void {
    this.busy = true;
    this.empty = false;
    this.advance();
  }

  // ── what the shared lanes bring ──

  came(lane: Lane, reserved: Reserved): void {
    const crowded = this.context.clock.now() - this.cameAt < OFTEN || this.taker.room() <= 0;
    this.cameAt = this.context.clock.now();
    this.quietWaits = 0;
    this.accept(lane, reserved);
    if (crowded && this.active && !this.own.paused) this.becomeBusy();
  }

  covered(): void {
    if (!this.busy) return;
    if (!this.quiet) return this.shared.leave(this);
    this.busy = false;
    this.own.drop();
  }

  // ── what its own lanes bring ──

  awaited(lane: Lane, reserved: Reserved): void {
    if (this.accept(lane, reserved)) this.rest();
  }

  waited(brought: boolean): void {
    if (brought) this.empty = false;
    this.quietWaits = brought ? 0 : this.quietWaits + 1;
    if (this.active && this.quiet) this.shared.join(this, false);
    this.advance();
  }

  handed(): void {
    this.answered();
  }

  laneFree(): void {
    if (this.busy && !this.quiet) this.shared.leave(this);
    this.advance();
  }

  notOpened(): void {
    if (this.own.none) this.busy = false;
    this.advance();
  }

  reopen(): void {
    if (!this.busy && this.context.clock.now() - this.cameAt < OFTEN) this.busy = true;
    if (!this.busy) this.node.lanes.done(this.tube); // it wants none any more
    if (!this.own.waiting) this.empty = false; // an open wait is the question
    this.advance();
  }

  /** It wants no lane of its own any more. */
  private get quiet(): boolean {
    return this.quietWaits >= QUIET_WAITS && this.own.held === 0 && this.asked === 0;
  }

  private refill(room: number): void {
    if (this.asked > 0) return; // its answers call again
    const lane = this.own.refillLane();
    if (!lane) return this.poll();
    const count = Math.min(this.batch, room, MOST_HELD - lane.held);
    const whole = count === this.batch;
    let got = 0;
    let answered = 0;
    this.outstanding += count;
    lane.refill(count, (reserved) => {
      if (reserved) {
        got++;
        this.quietWaits = 0;
        this.accept(lane, reserved);
      }
      if (++answered === count && !lane.closed) {
        this.empty = got < count;
        if (this.empty) this.batch = SMALLEST_BATCH;
        else if (whole) this.batch = Math.min(LARGEST_BATCH, this.batch * 2);
      }
      this.outstanding--;
      this.answered();
    });
  }

  private answered(): void {
    if (this.asked > 0) return;
    this.advance();
    this.taker.roomLeft();
  }

  /** True when those behind it are in no hurry. */
  private accept(lane: Lane, { id, body }: Reserved): boolean {
    const envelope = unwrap(body);
    if (typeof envelope === 'string') {
      const { tube, report } = this.context;
      lane.buryBody(id, () => report.poison(tube, this.node.endpoint, id, envelope));
      return false;
    }
    const delivery = new Delivery(this.node, lane, id, body, envelope, this.taker);
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

  /** Every lane holds something or is full, so none can wait. Where one is to be opened, that asks again. */
  private poll(): void {
    if (this.polling || this.own.opening || this.own.none) return;
    this.polling = true;
    this.later(POLL_WITHOUT_WAIT, () => {
      this.polling = false;
      this.reopen();
    });
  }

  private later(ms: number, callback: () => void): void {
    const timer = this.context.clock.after(ms, () => {
      this.timers.delete(timer);
      callback();
    });
    this.timers.add(timer);
  }
}
