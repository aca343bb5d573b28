import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { ClusterConsumer } from '../consumer/consumer.js';
import { EmbeddedNode } from '../embedded/embedded-node.js';
import type { Ledger } from '../ledger/ledger.js';
import { startKeeperThread } from '../ledger/lease-keeper.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import { RedisLedger } from '../ledger/redis-ledger.js';
import { SettleQueue } from '../ledger/settle-queue.js';
import { ClusterDeadLetters } from '../producer/dead-letters.js';
import { ClusterProducer } from '../producer/producer.js';
import type { Clock } from '../time.js';
import { dialTcp } from './endpoint.js';
import { LogReport } from './log-report.js';
import type { ResolvedOptions } from './options.js';

const EMBEDDED_ENDPOINT = 'embedded';

/** All parts of one cluster in one application: puts them together, starts them, and closes them in order. */
export class DqRuntime {
  readonly producer: ClusterProducer;
  readonly consumer: ClusterConsumer;
  readonly deadLetters: ClusterDeadLetters;

  private readonly embedded: EmbeddedNode | undefined;
  private readonly cluster: Cluster;
  private readonly ledger: Ledger;
  private readonly settleQueue: SettleQueue;
  private closing: Promise<void> | undefined;

  constructor(options: ResolvedOptions, clock: Clock) {
    const report = new LogReport(options.logger, clock);
    const { servers } = options;
    if (servers) {
      const nodes = servers.beanstalks.map(
        (endpoint) => new ClusterNode(endpoint.text, dialTcp(endpoint), clock),
      );
      this.cluster = new Cluster(nodes, options);
      const warn = (message: string) => report.warn(message);
      this.ledger = new RedisLedger({
        redis: servers.redis,
        settings: options,
        clock,
        warn,
        startKeeper: startKeeperThread,
      });
    } else {
      const embedded = new EmbeddedNode(clock);
      this.embedded = embedded;
      this.cluster = new Cluster([new ClusterNode(EMBEDDED_ENDPOINT, () => embedded.dial(), clock)], options);
      this.ledger = new MemoryLedger({ settings: options, clock });
    }
    for (const node of this.cluster.nodes) node.listen(report);
    this.ledger.listen(report);
    const { cluster, ledger } = this;
    const settleQueue = new SettleQueue(ledger, clock);
    this.settleQueue = settleQueue;
    const producing = { cluster, ledger, settleQueue, clock, settings: options };
    this.producer = new ClusterProducer(producing);
    this.deadLetters = new ClusterDeadLetters(producing);
    this.consumer = new ClusterConsumer(options, { cluster, ledger, settleQueue, clock, report });
  }

  /** Connects in the background, and goes on trying. Idempotent. */
  start(): void {
    this.cluster.start();
    this.ledger.start();
  }

  /** After the consumer has stopped. Idempotent. */
  close(): Promise<void> {
    return (this.closing ??= this.end());
  }

  private async end(): Promise<void> {
    this.producer.close();
    this.deadLetters.close();
    this.settleQueue.close();
    try {
      await this.ledger.close();
    } finally {
      this.cluster.close();
      this.embedded?.close();
    }
  }
}
