import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import type { Clock, Timer } from '../../time/clock.js';
import type { Lane } from './lane.js';
import { Lanes, type LanesUser } from './lanes.js';
import { LogWrites } from './log-writes.js';
import type { ConsumerReport } from '../report.js';
import type { Taker } from './delivery.js';

/** One waits, one takes over from it, and two hold what rare jobs have running. */
const MOST_LANES = 4;
/** Milliseconds. */
const LOOK_AGAIN_AFTER = 50;

/** A tube of the process, as the shared lanes of a node know it. */
export interface SharedTube {
  readonly tube: string;
  readonly taker: Taker;
  /** A shared lane has reserved this for it. */
  came(lane: Lane, reserved: Reserved): void;
  /** A shared lane waits for its copies from now on. */
  covered(): void;
}

/**
 * The lanes to one node on which all tubes of the process wait that have none of their own. One of them is in a blocking
 * reserve from all these tubes together. Such a reserve takes the server a time that grows with their number, and does not
 * say whose the copy is, which is asked then: so this is for rare jobs.
 *
 * A wait cannot be told of one more tube. A tube that has no other lane is waited for at once, by another lane, and the
 * older wait goes on beside it for the rest of its seconds; where no lane is left for that, the waits are ended, and one
 * begins anew. A tube that still has a lane of its own is waited for when the present wait is over. Until then, too, copies
 * come of a tube that has left: it takes them all the same, and those of one that is gone are let go.
 */
export class SharedLanes implements LanesUser {
  /** Waited for, or to be waited for. */
  readonly tubes = new Set<string>();
  /** Of all lanes to the node, those of busy tubes too. */
  readonly logWrites: LogWrites;
  /** That take copies. */
  private readonly attached = new Map<string, SharedTube>();
  /** That may hold copies. */
  private readonly users = new Set<SharedTube>();
  /** Not waited for yet. */
  private readonly joining = new Set<SharedTube>();
  /** One of those has no other lane. */
  private urgent = false;
  private readonly lanes: Lanes;
  private scheduled = false;
  private timer: Timer | undefined;

  constructor(
    private readonly node: ClusterNode,
    private readonly clock: Clock,
    report: Pick<ConsumerReport, 'nodeTrouble'>,
  ) {
    this.logWrites = new LogWrites(node);
    this.lanes = new Lanes(node, this.logWrites, clock, report, MOST_LANES, this);
  }

  /** A tube that may join from now on. Idempotent. */
  attach(tube: SharedTube): void {
    this.attached.set(tube.tube, tube);
    this.users.add(tube);
    this.lanes.start();
  }

  /** The tube's copies are to be waited for: at once, or where it waits by itself so far, when a wait begins. Idempotent. */
  join(tube: SharedTube, atOnce: boolean): void {
    if (!this.tubes.has(tube.tube)) {
      this.tubes.add(tube.tube);
      if (this.lanes.waitsFor(tube.tube)) return tube.covered(); // it had left, and the wait goes on
      this.joining.add(tube);
    }
    if (!atOnce || this.urgent || !this.joining.has(tube)) return;
    this.urgent = true;
    this.schedule();
  }

  /** No more, once the present wait is over. Idempotent. */
  leave(tube: SharedTube): void {
    this.tubes.delete(tube.tube);
    this.joining.delete(tube);
  }

  /** No copy of the tube is taken any more; what is held of it stays held. Idempotent. */
  detach(tube: SharedTube): void {
    this.leave(tube);
    this.attached.delete(tube.tube);
    if (this.attached.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
    this.lanes.stop();
  }

  /** After `detach`: gives back what is held of the tube. With the last one the lanes end; resolves when they are gone. */
  async close(tube: SharedTube): Promise<void> {
    this.lanes.releaseAll(tube.taker);
    this.users.delete(tube);
    if (this.users.size === 0) await this.lanes.close();
  }

  touchAll(tube: SharedTube): void {
    this.lanes.touchAll(tube.taker);
  }

  // ── what the lanes bring ──

  awaited(lane: Lane, reserved: Reserved): void {
    lane.whose(reserved.id, (stats) => {
      const tube = stats && this.attached.get(stats['tube']!);
      if (tube) tube.came(lane, reserved);
      else if (stats) lane.putBack(reserved.id, Number(stats['pri']), 0, () => undefined);
      this.schedule();
    });
  }

  waited(): void {
    this.schedule();
  }

  handed(): void {
    this.schedule();
  }

  laneFree(): void {
    this.schedule();
  }

  notOpened(): void {
    // `reopen` comes
  }

  reopen(): void {
    this.schedule();
  }

  /** One look for all that join in a turn of the event loop. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.clock.next(() => {
      this.scheduled = false;
      this.look();
    });
  }

  private look(): void {
    if (!this.node.up || this.lanes.opening) return;
    if (this.lanes.waiting && !this.urgent) return;
    if (this.tubes.size === 0) return this.lanes.drop();
    const begun = this.lanes.wait();
    if (begun === 'none') return this.lookAgain();
    if (begun === 'later') return;
    this.urgent = false;
    const joined = Array.from(this.joining);
    this.joining.clear();
    for (const tube of joined) tube.covered();
  }

  /** All lanes wait or hold something, and no other can be opened. */
  private lookAgain(): void {
    this.timer ??= this.clock.after(LOOK_AGAIN_AFTER, () => {
      this.timer = undefined;
      if (this.tubes.size === 0) return;
      if (this.urgent && !this.lanes.paused) this.lanes.endWaits();
      if (this.lanes.waiting || !this.lanes.poll()) this.schedule();
    });
  }
}

/** The shared lanes of a process: of each node its own. */
export class SharedLanesOfNodes {
  private readonly byNode = new Map<ClusterNode, SharedLanes>();

  constructor(
    private readonly clock: Clock,
    private readonly report: ConsumerReport,
  ) {}

  of(node: ClusterNode): SharedLanes {
    let lanes = this.byNode.get(node);
    if (!lanes) this.byNode.set(node, (lanes = new SharedLanes(node, this.clock, this.report)));
    return lanes;
  }
}
