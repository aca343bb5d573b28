import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { Lane } from './lane.js';
import { Lanes, type LanesChange, type LanesUser } from './lanes.js';
import { LogWrites } from './log-writes.js';
import type { ConsumerReport } from '../report.js';
import type { Taker } from './delivery.js';

/** One waits, one takes over the wait, and two hold the copies of running jobs. */
const MOST_LANES = 4;
/** Milliseconds. */
const LOOK_AGAIN_AFTER = 50;

/** One tube of the process, as the shared lanes of a node see it. */
export interface SharedTube {
  readonly tube: string;
  readonly taker: Taker;
  /** A shared lane has reserved a copy of the tube. */
  came(lane: Lane, reserved: Reserved): void;
  /** A shared lane waits for its copies from now on. */
  covered(): void;
}

/**
 * The lanes to one node on which all quiet tubes of the process wait. One lane waits in a blocking reserve from all these
 * tubes together. Such a reserve costs the server a time that grows with the number of tubes, and its reply does not name
 * the tube, so the server is asked for it if the wait watched several. That is good enough for rare jobs.
 *
 * A tube cannot be added to a wait that has begun. For a tube without a lane of its own, another lane waits at once, and
 * the older wait goes on beside it for the rest of its seconds. If no lane is left for that, all waits end, and a new one
 * begins. A tube that still has a lane of its own joins when the current wait is over. A wait may still bring a copy of a
 * tube that has left: the tube takes it all the same. A copy of a tube that has stopped is released.
 */
export class SharedLanes implements LanesUser {
  /** The tubes of the next wait. */
  readonly tubes = new Set<string>();
  /** Of all lanes to the node, also those of busy tubes. */
  readonly logWrites: LogWrites;
  /** The tubes that take copies. */
  private readonly attached = new Map<string, SharedTube>();
  /** The tubes that may hold copies. */
  private readonly users = new Set<SharedTube>();
  /** The tubes that no wait covers yet. */
  private readonly joining = new Set<SharedTube>();
  /** Those of them that have no lane of their own. */
  private readonly urgent = new Set<SharedTube>();
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

  /** The tube may join from now on. Idempotent. */
  attach(tube: SharedTube): void {
    this.attached.set(tube.tube, tube);
    this.users.add(tube);
    this.lanes.start();
  }

  /** Waits for the tube's copies: at once, or from the next wait on if the tube has a wait of its own. Idempotent. */
  join(tube: SharedTube, atOnce: boolean): void {
    if (!this.tubes.has(tube.tube)) {
      this.tubes.add(tube.tube);
      if (this.lanes.waitsFor(tube.tube)) return tube.covered(); // it had left, and that wait still covers it
      this.joining.add(tube);
    }
    if (!atOnce || this.urgent.has(tube) || !this.joining.has(tube)) return;
    this.urgent.add(tube);
    this.schedule();
  }

  /** Waits for the tube's copies no more, once the current wait is over. Idempotent. */
  leave(tube: SharedTube): void {
    this.tubes.delete(tube.tube);
    this.joining.delete(tube);
    this.urgent.delete(tube); // or no wait would begin for it when it joins again
  }

  /** Takes no copy of the tube any more. What is held of it stays held. Idempotent. */
  detach(tube: SharedTube): void {
    this.leave(tube);
    this.attached.delete(tube.tube);
    if (this.attached.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
    this.lanes.stop();
  }

  /** After `detach`: releases what is held of the tube. With the last tube the lanes close; resolves when they are closed. */
  async close(tube: SharedTube): Promise<void> {
    this.lanes.releaseAll(tube.taker);
    this.users.delete(tube);
    if (this.users.size === 0) await this.lanes.close();
  }

  touchAll(tube: SharedTube): void {
    this.lanes.touchAll(tube.taker);
  }

  // ── what the lanes bring ──

  awaited(lane: Lane, reserved: Reserved, onlyTube: string | undefined): void {
    const only = onlyTube !== undefined && this.attached.get(onlyTube);
    if (only) {
      only.came(lane, reserved);
      return this.schedule();
    }
    lane.statsOf(reserved.id, (stats) => {
      const tube = stats && this.attached.get(stats['tube']!);
      if (tube) tube.came(lane, reserved);
      else if (stats) lane.releaseReserved(reserved.id, Number(stats['pri']), 0, () => undefined);
      this.schedule();
    });
  }

  changed(change: LanesChange): void {
    if (change !== 'notOpened') this.schedule(); // after that, `reopen` comes
  }

  /** Calls `look` once for all that happens in a turn of the event loop. */
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
    if (this.lanes.waiting && this.urgent.size === 0) return;
    if (this.tubes.size === 0) return this.lanes.drop();
    const begun = this.lanes.wait();
    if (begun === 'none') return this.lookAgain();
    if (begun === 'later') return;
    this.urgent.clear();
    const joined = Array.from(this.joining);
    this.joining.clear();
    for (const tube of joined) tube.covered();
  }

  /** All lanes wait or hold something, and no more can be opened. */
  private lookAgain(): void {
    this.timer ??= this.clock.after(LOOK_AGAIN_AFTER, () => {
      this.timer = undefined;
      if (this.tubes.size === 0) return;
      if (this.urgent.size > 0 && !this.lanes.paused) this.lanes.endWaits();
      if (this.lanes.waiting || !this.lanes.poll()) this.schedule();
    });
  }
}

export type SharedLanesByNode = ReadonlyMap<ClusterNode, SharedLanes>;

/** The shared lanes of a process. */
export function sharedLanesTo(
  nodes: readonly ClusterNode[],
  clock: Clock,
  report: Pick<ConsumerReport, 'nodeTrouble'>,
): SharedLanesByNode {
  return new Map(nodes.map((node) => [node, new SharedLanes(node, clock, report)]));
}
