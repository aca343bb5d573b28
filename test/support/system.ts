import { connect } from 'node:net';
import { Cluster, type ClusterSettings } from 'nest-dq/src/cluster/cluster.js';
import { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';
import { ClusterConsumer } from 'nest-dq/src/consumer/consumer.js';
import { DEFAULT_HANDLER_SETTINGS } from 'nest-dq/src/consumer/run/handler-settings.js';
import type { ConsumerReport } from 'nest-dq/src/consumer/report.js';
import { InProcessNode } from 'nest-dq/src/embedded/in-process-node.js';
import { EventHub } from 'nest-dq/src/events/event-hub.js';
import type { Ledger, LedgerSettings } from 'nest-dq/src/ledger/ledger.js';
import { MemoryLedger } from 'nest-dq/src/ledger/memory/memory-ledger.js';
import { RedisLedger } from 'nest-dq/src/ledger/redis/redis-ledger.js';
import { SettleQueue } from 'nest-dq/src/ledger/settle-queue.js';
import { ClusterProducer } from 'nest-dq/src/producer/cluster-producer.js';
import { systemClock } from 'nest-dq/src/time/clock.js';
import { startBeanstalkd, startRedis, type BeanstalkdServer, type RedisServer } from 'test-servers';

/** Three beanstalkds with binlogs and a Redis with AOF: what a small cluster has. */
export interface Servers {
  readonly beanstalkds: readonly BeanstalkdServer[];
  readonly redis: RedisServer;
  stop(): Promise<void>;
}

export async function startServers(nodes = 3): Promise<Servers> {
  const [redis, ...beanstalkds] = await Promise.all([
    startRedis(),
    ...Array.from({ length: nodes }, () => startBeanstalkd()),
  ]);
  return {
    redis,
    beanstalkds,
    stop: async () => {
      await Promise.all([redis, ...beanstalkds].map((server) => server.stop()));
    },
  };
}

export interface SystemOptions extends Partial<ClusterSettings>, Partial<LedgerSettings> {
  readonly backupDelay?: number;
  readonly patience?: number;
  readonly drainLimit?: number;
  readonly prefix?: string;
  readonly redis?: string;
}

/** What one process has of the library, without Nest: parts that a test can look into. */
export interface System {
  readonly nodes: readonly ClusterNode[];
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly producer: ClusterProducer;
  readonly consumer: ClusterConsumer;
  /** What the consumer reported, a line each. */
  readonly reports: string[];
  readonly stop: () => Promise<void>;
}

/** A process of a real cluster. */
export function startSystem(servers: Servers, options: SystemOptions = {}): System {
  const reports: string[] = [];
  const nodes = servers.beanstalkds.map(
    ({ host, port, endpoint }) => new ClusterNode(endpoint, () => connect({ host, port }), systemClock),
  );
  const ledger = new RedisLedger({
    redis: options.redis ?? servers.redis.url,
    settings: ledgerSettings(options),
    clock: systemClock,
    warn: (message) => reports.push(`warning: ${message}`),
  });
  return assemble(nodes, ledger, reports, options);
}

/** A process with embedded nodes and the memory ledger; `close` of a node takes it and all that it has away. */
export function startEmbeddedSystem(
  options: SystemOptions = {},
): System & { readonly embedded: InProcessNode[] } {
  const embedded = [0, 1, 2].map(() => new InProcessNode(systemClock));
  const nodes = embedded.map((node, i) => new ClusterNode(`embedded:${i}`, () => node.dial(), systemClock));
  const ledger = new MemoryLedger({ settings: ledgerSettings(options), clock: systemClock });
  const system = assemble(nodes, ledger, [], options);
  const stop = async () => {
    await system.stop();
    for (const node of embedded) node.close();
  };
  return { ...system, embedded, stop };
}

function ledgerSettings(options: SystemOptions): LedgerSettings {
  const { lease = 15_000, doneTtl = 600_000, staleAfter = 604_800_000 } = options;
  return { lease, doneTtl, staleAfter };
}

function assemble(
  nodes: readonly ClusterNode[],
  ledger: Ledger,
  reports: string[],
  options: SystemOptions,
): System {
  const clock = systemClock;
  const { prefix = '', backupDelay = 2_000, patience = 5_000, drainLimit = 10_000 } = options;
  const { replicas = Math.min(3, nodes.length), minWritten = Math.min(2, replicas) } = options;
  const cluster = new Cluster(nodes, { replicas, minWritten });
  ledger.listen({
    away: (error) => reports.push(`ledger away ${error.message}`),
    back: () => reports.push('ledger back'),
  });
  const settleQueue = new SettleQueue(ledger, clock, nodes);
  const events = new EventHub({
    lateAfter: 1_000,
    listenerFailed: (who, { message }) => reports.push(`listener failed ${who} ${message}`),
  });
  const producer = new ClusterProducer({
    cluster,
    ledger,
    settleQueue,
    clock,
    events,
    settings: { prefix, backupDelay, patience },
  });
  const { lease } = ledgerSettings(options);
  const consumer = new ClusterConsumer(
    { prefix, backupDelay, lease, drainLimit, handlers: DEFAULT_HANDLER_SETTINGS, consume: true },
    { cluster, ledger, settleQueue, clock, events, report: reportTo(reports) },
  );
  ledger.start();
  cluster.start();
  consumer.start();
  const stop = async () => {
    await consumer.stop();
    producer.close();
    await settleQueue.close();
    await ledger.close();
    cluster.close();
  };
  return { nodes, cluster, ledger, producer, consumer, reports, stop };
}

function reportTo(lines: string[]): ConsumerReport {
  return {
    failed: (job, error, retryAt) =>
      lines.push(`failed ${job.id} ${job.attempt} ${error.message} ${retryAt ? 'retry' : 'end'}`),
    dead: (tube, { id }, { why }) => lines.push(`dead ${tube} ${id} ${why}`),
    poison: (tube, node, copyId, reason) => lines.push(`poison ${tube} ${node} ${copyId} ${reason}`),
    leaseLost: (tube, id, attempt) => lines.push(`lease lost ${tube} ${id} ${attempt}`),
    revoked: (tube, id, attempt) => lines.push(`revoked ${tube} ${id} ${attempt}`),
    overran: (tube, id, attempt) => lines.push(`overran ${tube} ${id} ${attempt}`),
    instantOver: (tube, id) => lines.push(`instant over ${tube} ${id}`),
    notStored: (tube, id, _until, why) => lines.push(`not stored ${tube} ${id} ${why}`),
    ledgerTrouble: (tube, id, error) => lines.push(`ledger trouble ${tube} ${id} ${error.message}`),
    stoodStill: (tube, ms) => lines.push(`stood still ${tube} ${ms}`),
    cutOff: (tube, handlers) => lines.push(`cut off ${tube} ${handlers}`),
    nodeTrouble: (node, message) => lines.push(`trouble ${node} ${message}`),
  };
}
