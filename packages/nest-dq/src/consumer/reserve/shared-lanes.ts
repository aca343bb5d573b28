import type { Reserved } from '../../beanstalk/connection.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { Lane } from './lane.js';
import { LaneLimit, Lanes, type LanesChange, type LanesUser } from './lanes.js';
import { LogWrites } from './log-writes.js';
import type { ConsumerReport } from '../report.js';
import type { Taker } from './delivery.js';

/** Max lanes: one waits, one takes over the wait, and two hold the copies of running jobs. */
const MAX_LANES = 4;
/** Max batch for all tubes together. Copies are requested before their tubes are known, so those tubes may have no room for them. */
const LARGEST_BATCH = 32;
/** Pause before asking again if no lane can ask. */
const RETRY_AFTER_MS = 50;

/** One tube of the process, as the shared lanes of a node see it. */
export interface SharedTube {
  readonly tube: string;
  readonly taker: Taker;
  /** Called when a shared lane has reserved a copy of the tube. */
  came(lane: Lane, reserved: Reserved): void;
  /** Called when a shared lane has begun to wait for its copies. */
  covered(): void;
}

/**
 * The lanes to one node on which all quiet tubes of the process wait. One lane waits in a blocking reserve on all these tubes
 * together. Such a reserve costs the server time that grows with the number of tubes, and its reply doesn't name the tube, so the
 * server is asked for it if the wait watched several. That is good enough for rare jobs. After a wait that brought a copy, a lane
 * asks for one more that is ready, then for two, and so on, until there are none. Then a lane waits again.
 *
 * A tube can't be added to a wait that has begun. For a tube without a lane of its own, another lane begins to wait immediately,
 * while the older wait continues until its timeout. If no lane is left for that, all waits end, and a new one begins. A tube that
 * still has a lane of its own joins when the current wait ends. A wait may still bring a copy of a tube that has left: the tube
 * accepts it all the same. A copy of a tube that has stopped is released.
 */
export class SharedLanes implements LanesUser {
  /** The names of the tubes of the next wait. */
  private readonly names = new Set<string>();
  /** A snapshot of `names`, until a tube joins or leaves. */
  private listed: ReadonlySet<string> | undefined;
  /** Shared by all lanes to the node, including those of busy tubes. */
  readonly logWrites: LogWrites;
  /** Limits the lanes of busy tubes. */
  readonly ownLanes = new LaneLimit();
  /** The tubes that accept copies. */
  private readonly attached = new Map<string, SharedTube>();
  /** The tubes that may hold copies. */
  private readonly users = new Set<SharedTube>();
  /** The tubes that no wait covers yet. */
  private readonly joining = new Set<SharedTube>();
  /** The tubes in `joining` without a lane of their own. */
  private readonly urgent = new Set<SharedTube>();
  private readonly lanes: Lanes;
  /** Number of copies to ask for next, because a wait or the last batch brought all it could. 0 if none is known to be ready. */
  private batch = 0;
  /** Whether a batch is being requested. */
  private asking = false;
  private scheduled = false;
  private timer: Timer | undefined;

  constructor(
    private readonly node: ClusterNode,
    private readonly clock: Clock,
    report: Pick<ConsumerReport, 'nodeTrouble'>,
  ) {
    this.logWrites = new LogWrites(node);
    this.lanes = new Lanes(node, this.logWrites, clock, report, MAX_LANES, this);
  }

  /** The tubes of the next wait. After each change, a different set. */
  get tubes(): ReadonlySet<string> {
    return (this.listed ??= new Set(this.names));
  }

  /** Lets the tube join. Idempotent. */
  attach(tube: SharedTube): void {
    this.attached.set(tube.tube, tube);
    this.users.add(tube);
    this.lanes.start();
  }

  /** Waits for the tube's copies: immediately, or, if the tube has a wait of its own, starting with the next wait. Idempotent. */
  join(tube: SharedTube, atOnce: boolean): void {
    if (!this.names.has(tube.tube)) {
      this.names.add(tube.tube);
      this.listed = undefined;
      if (this.lanes.waitsFor(tube.tube)) return tube.covered(); // it had left, and that wait still covers it
      this.joining.add(tube);
    }
    if (!atOnce || this.urgent.has(tube) || !this.joining.has(tube)) return;
    this.urgent.add(tube);
    this.schedule();
  }

  /** Stops waiting for the tube's copies once the current wait ends. Idempotent. */
  leave(tube: SharedTube): void {
    if (this.names.delete(tube.tube)) this.listed = undefined;
    this.joining.delete(tube);
    this.urgent.delete(tube); // otherwise no wait would begin for it when it joins again
  }

  /** Accepts no more copies of the tube. Held ones stay held. Idempotent. */
  detach(tube: SharedTube): void {
    this.leave(tube);
    this.attached.delete(tube.tube);
    if (this.attached.size > 0) return;
    this.timer?.cancel();
    this.timer = undefined;
    this.lanes.stop();
  }

  /** Call after `detach`. Releases the held copies of the tube. With the last tube, the lanes close, and this resolves once they have. */
  async close(tube: SharedTube): Promise<void> {
    this.lanes.releaseAll(tube.taker);
    this.users.delete(tube);
    if (this.users.size === 0) await this.lanes.close();
  }

  touchAll(tube: SharedTube): void {
    this.lanes.touchAll(tube.taker);
  }

  // ── copies from the lanes ──

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
    if (change === 'brought') this.batch ||= 1;
    if (change === 'notOpened') this.lookAgain();
    else this.schedule();
  }

  /** Calls `look` once for everything that happens in a turn of the event loop. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.clock.next(() => {
      this.scheduled = false;
      this.look();
    });
  }

  private look(): void {
    if (!this.node.up || this.lanes.opening || this.asking) return;
    if (this.batch > 0 && this.names.size > 0 && (this.ask(this.batch) || this.lanes.opening)) return;
    if (this.lanes.waiting && this.urgent.size === 0) return;
    if (this.names.size === 0) return this.lanes.drop();
    const begun = this.lanes.wait();
    if (begun === 'none') return this.lookAgain();
    if (begun === 'later') return;
    this.urgent.clear();
    const joined = Array.from(this.joining);
    this.joining.clear();
    for (const tube of joined) tube.covered();
  }

  /** Asks for copies that are ready now. Returns false if no lane can ask. */
  private ask(most: number): boolean {
    if (this.asking) return true; // otherwise a lane whose reserves are unanswered could wait and then hold a copy
    this.asking = this.lanes.refill(most, (asked, got) => {
      this.asking = false;
      this.batch = got < asked ? 0 : Math.min(LARGEST_BATCH, 2 * most);
      this.schedule();
    });
    return this.asking;
  }

  /** Asks again after a pause, because all lanes wait or hold something and no more could be opened. */
  private lookAgain(): void {
    this.timer ??= this.clock.after(RETRY_AFTER_MS, () => {
      this.timer = undefined;
      if (this.names.size === 0) return;
      if (this.urgent.size > 0 && !this.lanes.paused) this.lanes.endWaits();
      if (this.lanes.waiting || !this.ask(1)) this.schedule();
    });
  }
}

export type SharedLanesByNode = ReadonlyMap<ClusterNode, SharedLanes>;

/** Creates the shared lanes of a process. */
export function sharedLanesTo(
  nodes: readonly ClusterNode[],
  clock: Clock,
  report: Pick<ConsumerReport, 'nodeTrouble'>,
): SharedLanesByNode {
  return new Map(nodes.map((node) => [node, new SharedLanes(node, clock, report)]));
}
