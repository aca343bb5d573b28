import { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';
import { Cluster } from 'nest-dq/src/cluster/cluster.js';
import { ClusterConsumer } from 'nest-dq/src/consumer/consumer.js';
import type { ConsumerReport } from 'nest-dq/src/consumer/report.js';
import { EventHub } from 'nest-dq/src/events/event-hub.js';
import type { DelayedJob } from 'nest-dq/src/api/job.js';
import type { LedgerSettings } from 'nest-dq/src/ledger/ledger.js';
import { SettleQueue } from 'nest-dq/src/ledger/settle-queue.js';
import { ClusterDeadLetters } from 'nest-dq/src/producer/dead-letters.js';
import { ClusterProducer } from 'nest-dq/src/producer/cluster-producer.js';
import type { Clock } from 'nest-dq/src/time/clock.js';
import { HostClock } from './host-clock.js';
import { TUBE } from './plan.js';
import type { LedgerLink, SimulatedLedger } from './simulated-ledger.js';
import type { SimulatedNode } from './simulated-node.js';

/** Milliseconds. */
const DRAIN_LIMIT = 3_000;

/** What all processes of a simulated world share. */
export interface Surroundings {
  readonly world: Clock;
  readonly nodes: readonly SimulatedNode[];
  readonly ledger: SimulatedLedger;
  readonly settings: LedgerSettings & {
    readonly backupDelay: number;
    readonly concurrency: number;
    readonly patience: number;
  };
  /** A handler's run: everything that happens in it. */
  handle(process: SimulatedProcess, payload: number, job: DelayedJob): Promise<unknown>;
  report(process: SimulatedProcess, text: string): void;
}

/** One process of the library: a producer and a consumer of the one tube. */
export class SimulatedProcess {
  readonly clock: HostClock;
  readonly ledger: LedgerLink;
  readonly producer: ClusterProducer;
  readonly deadLetters: ClusterDeadLetters;
  private readonly consumer: ClusterConsumer;

  constructor(
    readonly name: string,
    offset: number,
    private readonly surroundings: Surroundings,
  ) {
    const { world, nodes, ledger, settings } = surroundings;
    const clock = (this.clock = new HostClock(world, { offset }));
    this.ledger = ledger.connect(name, clock);
    const clusterNodes = nodes.map((node) => new ClusterNode(node.endpoint, () => node.dial(clock), clock));
    const cluster = new Cluster(clusterNodes, { replicas: 3, minWritten: 2 });
    const settleQueue = new SettleQueue(this.ledger, clock, clusterNodes);
    const { backupDelay, concurrency, lease, patience } = settings;
    const producing = { prefix: '', backupDelay, patience };
    const events = new EventHub({ lateAfter: 1_000, listenerFailed: () => undefined });
    const parts = { cluster, ledger: this.ledger, settleQueue, clock, events };
    this.producer = new ClusterProducer({ ...parts, settings: producing });
    this.deadLetters = new ClusterDeadLetters({ ...parts, settings: producing });
    const backoff = { type: 'fixed', delay: 1_000, max: 1_000, jitter: 0.2 } as const;
    const handlers = { concurrency, attempts: 5, backoff };
    this.consumer = new ClusterConsumer(
      { ...producing, lease, drainLimit: DRAIN_LIMIT, handlers, consume: true },
      { ...parts, report: this.report() },
    );
    this.ledger.start();
    cluster.start();
    this.consumer.start();
    void this.consumer.consume(TUBE, (payload: { readonly number: number }, job) =>
      surroundings.handle(this, payload.number, job),
    );
  }

  /** As for a SIGTERM; it is to be killed then. */
  stop(): Promise<void> {
    return this.consumer.stop();
  }

  /** At once, without a last word. */
  kill(): void {
    this.clock.kill();
    for (const node of this.surroundings.nodes) node.cut(this.clock);
    this.surroundings.ledger.forget(this.ledger);
  }

  private report(): ConsumerReport {
    const say = (text: string) => this.surroundings.report(this, text);
    return {
      failed: () => undefined,
      dead: () => undefined,
      leaseLost: (_tube, id) => say(`lost its lease of ${id}`),
      revoked: (_tube, id) => say(`is to stop ${id}`),
      overran: (_tube, id) => say(`waits no more for ${id}`),
      poison: (_tube, node, copyId, reason) => say(`poison on ${node}: ${copyId} ${reason}`),
      instantOver: (_tube, id) => say(`said an instant that is over for ${id}`),
      notStored: (_tube, id, _until, why) => say(`did not store Again of ${id}: ${why}`),
      ledgerTrouble: (_tube, id, error) => say(`ledger trouble with ${id}: ${error.message}`),
      stoodStill: (_tube, ms) => say(`stood still for ${ms} ms`),
      cutOff: (_tube, handlers) => say(`gives back the jobs of ${handlers} handlers`),
      nodeTrouble: (node, message) => say(`trouble on ${node}: ${message}`),
    };
  }
}
