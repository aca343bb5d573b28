import type { ClaimQueue } from '../claim/claim-queue.js';
import type { LimitedCopies } from '../claim/limited-copies.js';
import { unwrap } from '../../copies/formats/unwrap.js';
import type { Envelope } from '../../copies/header.js';
import type { TubeContext } from '../tube-context.js';
import { ConsumerNode } from './consumer-node.js';
import type { Delivery, Taker } from './delivery.js';

/** Reserves copies of a tube on all nodes, as far as there is room. Each node gets its share of the room. */
export class Reserver implements Taker {
  private readonly nodes: readonly ConsumerNode[];
  private turn = 0;
  private turnScheduled = false;
  stopped = false;

  constructor(
    private readonly context: TubeContext,
    private readonly claims: ClaimQueue,
    private readonly limited: LimitedCopies,
  ) {
    this.nodes = context.cluster.nodes.map((node) => new ConsumerNode(context, node, this));
  }

  /** Whether unclaimed copies are released immediately. */
  get releasesAll(): boolean {
    return this.stopped || this.context.gate.suspended;
  }

  read(body: Buffer): Envelope | string {
    const { cluster, storedAs, sharing } = this.context;
    return unwrap(body, storedAs, cluster.settings.seal, sharing.adopts);
  }

  /** Starts or resumes reserving. Does nothing after `stop`, for example if the ledger comes back during a drain. */
  start(): void {
    if (this.stopped) return;
    for (const node of this.nodes) node.start();
    this.schedule();
  }

  /** Pauses reserving. */
  pause(): void {
    for (const node of this.nodes) node.pause();
  }

  /** Stops reserving for good. Held copies stay held. */
  stop(): void {
    this.stopped = true;
    for (const node of this.nodes) node.stop();
  }

  /** Closes all lanes once the nodes have answered. Resolves when they are closed. */
  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  /** Renews the time to run of all held copies. */
  touchAll(): void {
    for (const node of this.nodes) node.touchAll();
  }

  /** Schedules one round of claims and one pass over the nodes for everything that happens in a turn of the event loop. */
  schedule(): void {
    if (this.turnScheduled) return;
    this.turnScheduled = true;
    const { clock, budget } = this.context;
    // While nothing runs, nothing can join this turn, so a single job starts a tenth of a millisecond sooner.
    if (budget.taken === 0) clock.next(this.takeTurn);
    else clock.soon(this.takeTurn);
  }

  // ── requests and events of the nodes ──

  room(): number {
    const room = this.limited.room;
    if (!this.open || room === 0) return 0;
    let asked = 0;
    for (const node of this.nodes) asked += node.asked;
    const { claims } = this;
    const { budget } = this.context;
    // The next copy may be due sooner than all held ones, so at least one more is always requested.
    const most = Math.max(1, budget.mostEarly - claims.early - asked);
    // Each node gets its share. Otherwise the first one would be drained while backups surface on the others.
    return Math.ceil(Math.min(most, room, budget.left(claims.due, asked)) / this.nodes.length);
  }

  get holdsEnoughEarly(): boolean {
    return this.claims.early >= this.context.budget.mostEarly;
  }

  roomLeft(): void {
    this.schedule();
  }

  lost(delivery: Delivery): void {
    this.claims.lost(delivery);
    this.schedule();
  }

  /** Whether copies may be reserved and claimed now. */
  private get open(): boolean {
    return this.context.gate.open && !this.stopped;
  }

  private readonly takeTurn = (): void => {
    this.turnScheduled = false;
    if (!this.open) return;
    this.claims.advance();
    this.turn++;
    for (let i = 0; i < this.nodes.length; i++) this.nodes[(this.turn + i) % this.nodes.length]!.advance();
  };
}
