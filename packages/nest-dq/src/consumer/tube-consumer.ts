import type { ClusterNode } from '../cluster/cluster-node.js';
import type { Cluster } from '../cluster/cluster.js';
import { copyDelay } from '../copy-timing.js';
import { DqError } from '../errors.js';
import type { HandlerMethod } from '../job.js';
import type { FinishAnswer, Ledger, TubeLedger } from '../ledger/ledger.js';
import type { SettleQueue } from '../ledger/settle-queue.js';
import type { Clock, Timer } from '../time.js';
import { Changes } from './changes.js';
import { Claims, type ClaimTaker } from './claims.js';
import { ConsumerNode, type Taker } from './consumer-node.js';
import { Deletions } from './deletions.js';
import type { Delivery } from './delivery.js';
import { DueBuffer } from './due-buffer.js';
import { Executor } from './executor.js';
import { Finishes } from './finishes.js';
import type { HandlerSettings } from './handler-settings.js';
import { Heartbeat } from './heartbeat.js';
import { LedgerGate } from './ledger-gate.js';
import type { Verdict } from './outcome.js';
import type { ConsumerReport } from './report.js';
import { Room } from './room.js';
import { Run, type Grant } from './run.js';

/** Milliseconds. */
const SURPLUS_EVERY = 100;
/** A copy that surfaces earlier than this goes back: its node's clock runs ahead. */
const EARLIEST = 1_100;
/** How long handlers that heed their aborted signal have to end by themselves. */
const ABORT_GRACE = 250;
/** How long a stop waits for the ledger and the nodes to take the last words. */
const LAST_WORDS = 1_500;

export interface ConsumerParts {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly settleQueue: SettleQueue;
  readonly clock: Clock;
  readonly report: ConsumerReport;
}

export interface ConsumerSettings {
  /** Before every tube name. */
  readonly prefix: string;
  /** Milliseconds. */
  readonly backupDelay: number;
  /** Milliseconds. */
  readonly lease: number;
}

/** One tube in one process: what surfaces on any node is held until it is due, claimed, run, and settled. */
export class TubeConsumer implements Taker, ClaimTaker {
  private readonly ledger: TubeLedger;
  private readonly nodes: ConsumerNode[];
  private readonly space: Room;
  private readonly dueBuffer: DueBuffer;
  private readonly claims: Claims;
  private readonly executor: Executor;
  private readonly finishes: Finishes;
  private readonly deletions: Deletions;
  private readonly heartbeat: Heartbeat;

  private readonly gate: LedgerGate;
  private readonly changes: Changes;

  private started = false;
  private stopping: Promise<void> | undefined;
  private turn = 0;
  private turnScheduled = false;
  private surplusTimer: Timer | undefined;

  constructor(
    readonly tube: string,
    handler: HandlerMethod,
    private readonly handling: HandlerSettings,
    private readonly settings: ConsumerSettings,
    private readonly parts: ConsumerParts,
  ) {
    const { cluster, clock, settleQueue, report } = parts;
    const { prefix, backupDelay, lease } = settings;
    const ledger = parts.ledger.tube(tube);
    this.ledger = ledger;
    this.changes = new Changes(clock);
    this.space = new Room(clock, handling.concurrency);
    this.dueBuffer = new DueBuffer(
      clock,
      () => ledger.now(),
      (due) => this.cameDue(due),
    );
    this.claims = new Claims(
      ledger,
      settleQueue,
      clock,
      { tube, backupDelay, lease, attempts: handling.attempts },
      this,
    );
    this.executor = new Executor(tube, handler, handling, ledger, report, (run, verdict) =>
      this.ended(run, verdict),
    );
    this.finishes = new Finishes(ledger, clock, (run, verdict, answer, due) =>
      this.finished(run, verdict, answer, due),
    );
    this.deletions = new Deletions(cluster, settleQueue, tube, () => this.changes.tell());
    this.heartbeat = new Heartbeat(ledger, clock, lease, () => this.executor.all(), {
      lost: (run) => this.executor.loseLease(run),
      touch: () => this.nodes.forEach((node) => node.touchAll()),
    });
    this.nodes = cluster.nodes.map((node) => new ConsumerNode(node, prefix + tube, clock, this));
    this.gate = new LedgerGate(ledger, clock, {
      begin: () => {
        this.heartbeat.start();
        for (const node of this.nodes) node.start();
      },
      suspend: () => {
        for (const node of this.nodes) node.pause();
        this.letGoUnclaimed();
      },
      back: () => {
        this.finishes.flush();
        this.heartbeat.beat();
      },
      resume: () => {
        for (const node of this.nodes) node.start();
        this.schedule();
      },
    });
  }

  /** Begins as soon as the ledger and a node answer. Idempotent, and nothing after `stop`. */
  start(): void {
    if (this.started || this.stopping) return;
    this.started = true;
    this.gate.start();
  }

  /**
   * Drains: reserves nothing more, gives back what has not begun, lets handlers end for `limit` ms, then raises their
   * signals and gives their jobs back too, without counting the attempt. Idempotent; also before `start`.
   */
  stop(limit: number): Promise<void> {
    return (this.stopping ??= this.drain(limit));
  }

  // ── what the nodes ask and bring ──

  room(): number {
    if (!this.gate.open || this.stopping) return 0;
    let asked = 0;
    for (const node of this.nodes) asked += node.asked;
    // Each node has its share, or the first would be drained while the others' backups surface.
    return Math.ceil(this.space.left(this.freeSlots(), this.claims.size, asked) / this.nodes.length);
  }

  arrived(delivery: Delivery): void {
    if (this.gate.suspended || this.stopping) return delivery.release(0);
    const { index, due } = delivery.header;
    const { backupDelay } = this.settings;
    const early = due - this.ledger.now();
    if (early > EARLIEST) return delivery.release(copyDelay(index, early, backupDelay));
    if (early > 0 && delivery.primary) this.dueBuffer.add(delivery);
    else this.cameDue([delivery]);
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

  trouble(node: ClusterNode, message: string): void {
    this.parts.report.nodeTrouble(node.endpoint, message);
  }

  // ── what the claims ask and bring ──

  freeSlots(): number {
    return this.handling.concurrency - this.executor.handling - this.claims.pending;
  }

  /** Another copy of a job that this process runs: its run will end it, and asking before would only make work. */
  ours({ header }: Delivery): boolean {
    return this.executor.has(header.id);
  }

  run(delivery: Delivery, grant: Grant, claimedAt: number): void {
    if (this.stopping) this.finishes.add(new Run(delivery, grant, claimedAt), { kind: 'back' });
    else this.executor.start(delivery, grant, claimedAt);
  }

  early(delivery: Delivery): void {
    if (this.gate.suspended || this.stopping) delivery.release(0);
    else this.dueBuffer.add(delivery);
  }

  gone(delivery: Delivery): void {
    this.deletions.delete(delivery, false);
  }

  answered(): void {
    // What got no answer is not kept from others that may reach the ledger.
    if (this.gate.suspended || this.stopping) this.letGoUnclaimed();
    this.changed();
  }

  died(delivery: Delivery, why: 'attempts' | 'stale'): void {
    this.parts.report.dead(this.tube, delivery.header.id, { why });
  }

  // ── the turn ──

  private cameDue(deliveries: readonly Delivery[]): void {
    for (const delivery of deliveries) this.claims.add(delivery);
    this.armSurplus();
    this.schedule();
  }

  /** One claim call and one look at the nodes for all that happens in a turn of the event loop. */
  private schedule(): void {
    if (this.turnScheduled) return;
    this.turnScheduled = true;
    this.parts.clock.soon(() => {
      this.turnScheduled = false;
      if (!this.gate.open || this.stopping) return;
      this.claims.claim();
      this.turn++;
      for (let i = 0; i < this.nodes.length; i++) this.nodes[(this.turn + i) % this.nodes.length]!.advance();
    });
  }

  private armSurplus(): void {
    this.surplusTimer ??= this.parts.clock.after(SURPLUS_EVERY, () => {
      this.surplusTimer = undefined;
      this.claims.releaseSurplus(Math.max(this.handling.concurrency, this.space.window));
      if (this.claims.size > 0) this.armSurplus();
      this.schedule();
    });
  }

  private ended(run: Run, verdict: Verdict): void {
    if (verdict.kind !== 'back') this.space.completed();
    this.finishes.add(run, verdict);
    this.changed();
  }

  private finished(run: Run, verdict: Verdict, answer: FinishAnswer, retryDue: number): void {
    this.executor.forget(run);
    const { delivery } = run;
    if (answer === 'refused') {
      this.claims.letRunEnd(delivery);
    } else if (answer === 'revoked' || verdict.kind === 'done') {
      this.deletions.delete(delivery, true);
    } else if (verdict.kind === 'retry') {
      this.claims.keepUntil(delivery, retryDue);
    } else if (verdict.kind === 'back') {
      delivery.release(0);
    } else {
      delivery.bury();
      this.parts.report.dead(this.tube, run.id, verdict.death);
    }
    this.changed();
  }

  private changed(): void {
    this.schedule();
    this.changes.tell();
  }

  private letGoUnclaimed(): void {
    for (const delivery of this.dueBuffer.takeAll()) delivery.release(0);
    for (const delivery of this.claims.takeAll()) delivery.release(0);
  }

  // ── the end ──

  private async drain(limit: number): Promise<void> {
    for (const node of this.nodes) node.stop();
    this.letGoUnclaimed();
    const running = () => this.executor.handling + this.claims.pending > 0;
    await this.changes.until(() => !running(), limit);
    if (running()) {
      this.executor.abortAll(
        new DqError('DQ_SHUTDOWN', `the process shuts down, and its drain limit of ${limit} ms is over`),
      );
      await this.changes.until(() => !running(), ABORT_GRACE);
      this.executor.giveUp();
    }
    this.finishes.flush();
    await this.changes.until(() => this.finishes.size + this.deletions.pending === 0, LAST_WORDS);
    this.gate.close();
    this.heartbeat.stop();
    this.finishes.close();
    this.claims.close();
    this.surplusTimer?.cancel();
    await Promise.all(this.nodes.map((node) => node.close()));
  }
}
