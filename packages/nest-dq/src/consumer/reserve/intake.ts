import { storedTube } from '../../api/tube.js';
import type { ClusterNode } from '../../cluster/cluster-node.js';
import { copyDelay } from '../../copies/timing.js';
import type { TubeLedger } from '../../ledger/ledger.js';
import type { Timer } from '../../time/clock.js';
import { Claims, PATIENCE, type ClaimTaker } from '../claim/claim-queue.js';
import { ConsumerNode } from './node.js';
import type { ConsumerSettings, TubeParts } from '../consumer-parts.js';
import type { Delivery, Taker } from './delivery.js';
import { DueBuffer } from '../claim/due-buffer.js';
import type { HandlerSettings } from '../run/handler-settings.js';
import { letterOf } from '../finish/letter-of.js';
import { Room } from './budget.js';
import type { Grant } from '../run/run.js';

/** Milliseconds. */
const SURPLUS_EVERY = 100;
/** Milliseconds. A copy that surfaces earlier than this goes back: its node's clock runs ahead. */
const EARLIEST = 1_100;
/** Milliseconds. After a copy that is early by more than this, those behind it may rest. */
const UNHURRIED = 10;

/** Who runs what was claimed, and says when to reserve. */
export interface IntakeHost {
  /** Copies may be reserved and claimed now. */
  readonly open: boolean;
  /** Leases that ended at this ledger time or later are spared; undefined: none is. */
  readonly sparedFrom: number | undefined;
  /** What is not claimed is let go at once. */
  readonly lettingGo: boolean;
  /** Handlers that have not returned. */
  readonly running: number;
  /** Whether this process runs this generation of a job, so that another copy of it is not to be claimed. */
  runs(job: { readonly id: string; readonly generation: number }): boolean;
  run(delivery: Delivery, grant: Grant, claimedAt: number): void;
  /** Granted, but not to be run any more. */
  giveBack(delivery: Delivery, grant: Grant, claimedAt: number): void;
  /** The job is over: delete the copy. */
  gone(delivery: Delivery): void;
  /** The job is dead, and the copy buried. */
  buried(delivery: Delivery): void;
  /** A claim was answered, or failed. */
  changed(): void;
}

/** The way of a tube's copies from the nodes to their claims: reserved as there is room, held until due, claimed. */
export class Intake implements Taker, ClaimTaker {
  private readonly nodes: ConsumerNode[];
  private readonly space: Room;
  private readonly dueBuffer: DueBuffer;
  private readonly claims: Claims;
  private turn = 0;
  private turnScheduled = false;
  /** Handlers that ended in this turn. */
  private ended = 0;
  private surplusTimer: Timer | undefined;

  constructor(
    private readonly tube: string,
    private readonly ledger: TubeLedger,
    private readonly handling: HandlerSettings,
    private readonly settings: ConsumerSettings,
    private readonly parts: TubeParts,
    private readonly host: IntakeHost,
  ) {
    const { cluster, clock, settleQueue, sharedLanes } = parts;
    const { prefix, backupDelay, lease } = settings;
    const storedAs = storedTube(tube, prefix);
    this.space = new Room(clock, handling.concurrency);
    this.dueBuffer = new DueBuffer(
      clock,
      ledger,
      () => this.freeSlots() - this.claims.size,
      (due) => this.cameDue(due),
    );
    const { attempts, timeout } = handling;
    const claimSettings = { tube: storedAs, backupDelay, lease, attempts, timeout };
    this.claims = new Claims(ledger, settleQueue, clock, claimSettings, this);
    this.nodes = cluster.nodes.map(
      (node) => new ConsumerNode(node, storedAs, clock, this, sharedLanes.of(node)),
    );
  }

  /** Copies that are early, or due without a slot. */
  get held(): number {
    return this.dueBuffer.size + this.claims.size;
  }

  /** Claims without an answer. */
  get claiming(): number {
    return this.claims.pending;
  }

  /** Begins, or goes on, to reserve. */
  start(): void {
    for (const node of this.nodes) node.start();
    this.schedule();
  }

  /** Reserves no more for now, and gives to others what is not claimed. */
  pause(): void {
    for (const node of this.nodes) node.pause();
    this.letGoUnclaimed();
  }

  /** Reserves no more for good, and gives to others what is not claimed. What runs stays held. */
  stop(): void {
    for (const node of this.nodes) node.stop();
    this.letGoUnclaimed();
  }

  /** Ends all lanes once the nodes have answered; resolves when they are gone. */
  async close(): Promise<void> {
    this.claims.close();
    this.surplusTimer?.cancel();
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  /** Keeps what is held for another time to run. */
  touchAll(): void {
    for (const node of this.nodes) node.touchAll();
  }

  /** A handler ended, which makes room. */
  completed(): void {
    this.ended++;
    this.schedule();
  }

  /** Keeps a copy for a later time, `due` by the ledger. */
  keepUntil(delivery: Delivery, due: number): void {
    this.claims.keepUntil(delivery, due);
  }

  /** Lets a copy go for as long as the run of its job has, wherever that is. */
  letRunEnd(delivery: Delivery): void {
    this.claims.letRunEnd(delivery);
  }

  /** One round of claims and one look at the nodes for all that happens in a turn of the event loop. */
  schedule(): void {
    if (this.turnScheduled) return;
    this.turnScheduled = true;
    // Where nothing runs, there is nothing to wait for: a job that comes alone starts a tenth of a millisecond sooner.
    if (this.freeSlots() === this.handling.concurrency) this.parts.clock.next(this.takeTurn);
    else this.parts.clock.soon(this.takeTurn);
  }

  private readonly takeTurn = (): void => {
    this.turnScheduled = false;
    if (this.ended > 0) this.space.completed(this.ended);
    this.ended = 0;
    if (!this.host.open) return;
    this.claims.claim();
    this.turn++;
    for (let i = 0; i < this.nodes.length; i++) this.nodes[(this.turn + i) % this.nodes.length]!.advance();
  };

  // ── what the nodes ask and bring ──

  room(): number {
    if (!this.host.open) return 0;
    let asked = 0;
    for (const node of this.nodes) asked += node.asked;
    // Each node has its share, or the first would be drained while the others' backups surface.
    return Math.ceil(this.space.left(this.freeSlots(), this.claims.size, asked) / this.nodes.length);
  }

  arrived(delivery: Delivery): boolean {
    const { index, due } = delivery.header;
    const early = due - this.ledger.now();
    if (this.host.lettingGo) delivery.release(0);
    else if (early > EARLIEST) delivery.release(copyDelay(index, early, this.settings.backupDelay));
    else if (early <= 0 || !delivery.primary) this.cameDue([delivery]);
    else this.dueBuffer.add(delivery);
    return early > UNHURRIED;
  }

  roomLeft(): void {
    this.schedule();
  }

  lost(deliveries: Delivery[]): void {
    for (const delivery of deliveries) {
      this.dueBuffer.remove(delivery);
      this.claims.remove(delivery);
    }
    this.schedule();
  }

  poison(node: ClusterNode, copyId: string, reason: string): void {
    this.parts.report.poison(this.tube, node.endpoint, copyId, reason);
  }

  nodeTrouble(node: ClusterNode, message: string): void {
    this.parts.report.nodeTrouble(node.endpoint, message);
  }

  // ── what the claims ask and bring ──

  freeSlots(): number {
    return this.handling.concurrency - this.host.running - this.claims.pending;
  }

  get sparedFrom(): number | undefined {
    return this.host.sparedFrom;
  }

  ours({ header }: Delivery): boolean {
    return this.host.runs(header);
  }

  run(delivery: Delivery, grant: Grant, claimedAt: number): void {
    this.host.run(delivery, grant, claimedAt);
  }

  giveBack(delivery: Delivery, grant: Grant, claimedAt: number): void {
    this.host.giveBack(delivery, grant, claimedAt);
  }

  early(delivery: Delivery): void {
    if (this.host.lettingGo) delivery.release(0);
    else this.dueBuffer.add(delivery);
  }

  gone(delivery: Delivery): void {
    this.host.gone(delivery);
  }

  buried(delivery: Delivery, why?: 'attempts' | 'stale'): void {
    if (why) {
      this.parts.report.dead(this.tube, delivery.header, { why });
      if (this.parts.events.heard('dead')) this.tellDead(delivery, why);
    }
    this.host.buried(delivery);
  }

  trouble(delivery: Delivery, error: Error): void {
    this.parts.report.ledgerTrouble(this.tube, delivery.header.id, error);
  }

  answered(): void {
    // What got no answer is not kept from others that may reach the ledger.
    if (this.host.lettingGo) this.letGoUnclaimed();
    this.host.changed();
  }

  private tellDead(delivery: Delivery, why: 'attempts' | 'stale'): void {
    const { due, attempts = this.handling.attempts } = delivery.header;
    const names = { tube: this.tube, storedAs: storedTube(this.tube, this.settings.prefix) };
    const end = { why, due, died: this.ledger.now(), attempt: why === 'stale' ? 0 : attempts };
    this.parts.events.tell('dead', { letter: letterOf(names, delivery, end) });
  }

  private cameDue(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.claims.add(delivery);
    this.armSurplus();
    this.schedule();
  }

  private armSurplus(): void {
    this.surplusTimer ??= this.parts.clock.after(SURPLUS_EVERY, () => {
      this.surplusTimer = undefined;
      this.claims.releaseSurplus(this.space.within(PATIENCE, this.freeSlots()));
      if (this.claims.size > 0) this.armSurplus();
      this.schedule();
    });
  }

  private letGoUnclaimed(): void {
    for (const delivery of this.dueBuffer.takeAll()) delivery.release(0);
    for (const delivery of this.claims.takeAll()) delivery.release(0);
  }
}
