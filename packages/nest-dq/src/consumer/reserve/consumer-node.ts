import { BAD_SEAL, NO_KEY } from '../../copies/formats/sealed.js';
import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import type { Timer } from 'nest-handlers/time';
import type { TubeContext } from '../tube-context.js';
import { Delivery, type Taker } from './delivery.js';
import { MAX_HELD, type Lane } from './lane.js';
import { Lanes, type LanesChange, type LanesUser } from './lanes.js';
import type { SharedLanes, SharedTube } from './shared-lanes.js';

/** Release delay of a copy whose key this process lacks. */
const WITHOUT_KEY_S = 30;
/** Release delay of such a copy while the process is fetching keys. */
const WHILE_ASKING_S = 1;
/** beanstalkd's lowest priority. */
const LAST_OF_ALL = 2 ** 32 - 1;
const MAX_LANES = 3;
const SMALLEST_BATCH = 4;
const LARGEST_BATCH = 256;
/** Max time between two copies that makes a tube busy. */
const BUSY_WITHIN_MS = 1_000;
/** Number of consecutive five-second waits without a copy that makes a tube quiet. */
const QUIET_WAITS = 2;
/** Pause between polls if no lane can wait. */
const POLL_WITHOUT_WAIT_MS = 50;
/** Pause after an early copy. Well below how early every primary surfaces, so that no copy becomes late. */
const REST_MS = 5;
/** Pause after an early copy while enough early ones are held. */
const LONG_REST_MS = 20;

/**
 * Reserves the copies of one tube on one beanstalkd. A quiet tube has no connection of its own: it waits on the lanes that all
 * quiet tubes of the process share (`shared-lanes.ts`). A busy tube has up to three lanes (`lanes.ts`). One of them waits
 * whenever the node is empty, so that it sees a new copy immediately, while the others hold the copies of running jobs:
 *
 * 1. Quiet: the tube uses the shared lanes. A second copy within a second, or a copy without room, makes it busy.
 * 2. Busy: it uses the shared lanes until a lane of its own is open. If none can be opened, or other busy tubes use up the limit
 *    (`lanes.ts`), it is quiet again, and then uses the shared lanes only while there is room.
 * 3. It asks for a batch of ready copies. After a full batch it asks for a larger one; otherwise the node is empty.
 * 4. The node is empty, there is room, and no lane waits: a lane waits. If the copy is early, those queued after it are early too:
 *    the tube rests for some milliseconds, and then 3 brings several copies per call. Once it holds all the early copies it may, it
 *    continues like that with one copy at a time, since the next may be urgent.
 * 5. There is room again, or a lane holds nothing any more: 3 or 4.
 * 6. Ten seconds without a copy, and nothing held: it joins the shared wait. Once that wait covers it, it is quiet.
 */
export class ConsumerNode implements LanesUser, SharedTube {
  /** The tube as stored. */
  readonly tube: string;
  readonly tubes: ReadonlySet<string>;
  private readonly own: Lanes;
  private readonly shared: SharedLanes;
  private active = false;
  private busy = false;
  /** When a copy last arrived on a shared lane. */
  private cameAt = -Infinity;
  private quietWaits = 0;
  /** Whether the last reply said that nothing is ready, and asking hasn't stopped since. */
  private empty = false;
  private batch = SMALLEST_BATCH;
  /** Number of a batch's reserves without a reply. */
  private outstanding = 0;
  private polling: Timer | undefined;
  private resting: Timer | undefined;

  constructor(
    private readonly context: Pick<
      TubeContext,
      'tube' | 'storedAs' | 'cluster' | 'clock' | 'report' | 'events' | 'sharedLanes' | 'life'
    >,
    private readonly node: ClusterNode,
    readonly taker: Taker,
  ) {
    const { clock, report, sharedLanes } = context;
    this.tube = context.storedAs;
    this.tubes = new Set([this.tube]);
    this.shared = sharedLanes.get(node)!;
    const { logWrites, ownLanes } = this.shared;
    this.own = new Lanes(node, logWrites, clock, report, MAX_LANES, this, ownLanes);
  }

  /** Number of reserves without a reply, which count against the room. */
  get asked(): number {
    return this.outstanding + this.own.asked;
  }

  /** Starts or resumes reserving. Idempotent. */
  start(): void {
    this.active = true;
    this.own.start();
    this.shared.attach(this);
    this.reopen();
  }

  /** Stops asking for copies. An open wait may still bring one. */
  pause(): void {
    this.active = false;
    this.shared.leave(this);
  }

  /** Stops asking for copies and ends the waits. Held copies stay held. */
  stop(): void {
    this.active = false;
    this.polling?.cancel();
    this.resting?.cancel();
    this.polling = this.resting = undefined;
    this.own.stop();
    this.shared.detach(this);
  }

  /** Closes the lanes once the server has answered all commands. Resolves when they are closed. */
  async close(): Promise<void> {
    this.stop();
    await Promise.all([this.own.close(), this.shared.close(this)]);
  }

  touchAll(): void {
    this.own.touchAll();
    this.shared.touchAll(this);
  }

  /** Rules 1, 3 and 4: asks for more if there is room. Call this after every change. */
  advance(): void {
    if (!this.active || !this.node.up || this.resting) return;
    const room = this.taker.room();
    if (this.own.crowdedOut) this.busy = false; // other tubes use all lanes
    if (!this.busy) {
      if (room <= 0 && (this.own.paused || this.own.crowdedOut)) this.shared.leave(this);
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

  /** Called when the tube gets enough copies to need lanes of its own. */
  becomeBusy(): void {
    this.busy = true;
    this.empty = false;
    this.advance();
  }

  // ── copies from the shared lanes ──

  came(lane: Lane, reserved: Reserved): void {
    const crowded = this.context.clock.now() - this.cameAt < BUSY_WITHIN_MS || this.taker.room() <= 0;
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

  // ── copies from its own lanes ──

  awaited(lane: Lane, reserved: Reserved): void {
    if (this.accept(lane, reserved)) this.rest();
  }

  changed(change: LanesChange): void {
    switch (change) {
      case 'brought':
        this.empty = false;
        this.quietWaits = 0;
        break;
      case 'nothing':
        this.quietWaits++;
        if (this.active && this.quiet) this.shared.join(this, false);
        break;
      case 'moved':
        return this.answered();
      case 'free':
        if (this.busy && !this.quiet) this.shared.leave(this);
        break;
      case 'notOpened':
        if (this.own.none) this.busy = false;
        break;
      case 'reopen':
        return this.reopen();
    }
    this.advance();
  }

  private reopen(): void {
    if (!this.busy && this.context.clock.now() - this.cameAt < BUSY_WITHIN_MS) this.busy = true;
    if (!this.busy) this.node.lanes.done(this.tube); // the lanes are no longer needed
    if (!this.own.waiting) this.empty = false; // an open wait is already asking
    this.advance();
  }

  /** Whether the tube no longer needs a lane of its own. */
  private get quiet(): boolean {
    return this.quietWaits >= QUIET_WAITS && this.own.held === 0 && this.asked === 0;
  }

  private refill(room: number): void {
    if (this.asked > 0) return; // the replies call `advance` again
    const lane = this.own.refillLane();
    if (!lane) return this.poll();
    const count = Math.min(this.batch, room, MAX_HELD - lane.held);
    const whole = count === this.batch;
    let got = 0;
    let answered = 0;
    this.outstanding += count;
    lane.refill(count, (reserved) => {
      if (reserved) {
        got++;
        this.quietWaits = 0;
        if (this.accept(lane, reserved) && this.taker.holdsEnoughEarly) this.rest();
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

  /** Returns true if the copies queued after it aren't urgent. */
  private accept(lane: Lane, { id, body }: Reserved): boolean {
    const envelope = this.taker.read(body);
    if (typeof envelope === 'string') {
      this.refuse(lane, id, envelope);
      return false;
    }
    const delivery = new Delivery(this.node, lane, id, body, envelope, this.taker);
    lane.hold(delivery);
    return this.context.life.arrived(delivery);
  }

  private refuse(lane: Lane, copyId: string, reason: string): void {
    const { tube, report, events, cluster } = this.context;
    const node = this.node.endpoint;
    if (!reason.startsWith(BAD_SEAL))
      return lane.buryBody(copyId, () => report.poison(tube, node, copyId, reason));
    const buried = !reason.startsWith(NO_KEY);
    if (!buried && cluster.settings.seal?.askForKeys())
      return lane.releaseReserved(copyId, LAST_OF_ALL, WHILE_ASKING_S, () => undefined);
    const tell = () => {
      const refused = { tube, node, copyId, reason, buried };
      report.badSeal(refused);
      events.emit('badSeal', refused);
    };
    if (buried) lane.buryBody(copyId, tell);
    else lane.releaseReserved(copyId, LAST_OF_ALL, WITHOUT_KEY_S, tell);
  }

  private rest(): void {
    this.resting ??= this.context.clock.after(this.taker.holdsEnoughEarly ? LONG_REST_MS : REST_MS, () => {
      this.resting = undefined;
      this.advance();
    });
  }

  /** Asks again soon, because every lane holds something, so that none can wait. A lane being opened reports back by itself. */
  private poll(): void {
    if (this.own.opening || this.own.none) return;
    this.polling ??= this.context.clock.after(POLL_WITHOUT_WAIT_MS, () => {
      this.polling = undefined;
      this.reopen();
    });
  }
}
