import { afterEach, beforeEach } from '@jest/globals';
import { Connection, type Stats } from '../src/beanstalk/connection.js';
import { ClusterNode } from '../src/cluster/cluster-node.js';
import { Cluster } from '../src/cluster/cluster.js';
import { resolveHandlerOptions, type GivenOptions } from '../src/consumer/run/handler-settings.js';
import { sharedLanesTo } from '../src/consumer/reserve/shared-lanes.js';
import { beatsOf } from '../src/consumer/heartbeat.js';
import { NOT_SHARED } from '../src/consumer/tube-context.js';
import { TubeConsumer } from '../src/consumer/tube-consumer.js';
import { InProcessNode } from '../src/embedded/in-process-node.js';
import type {
  BatchHandlerMethod,
  BatchHandlerOptions,
  HandlerMethod,
  JobOptions,
  JobReceipt,
} from '../src/api/job.js';
import type { LedgerSettings } from '../src/ledger/ledger.js';
import { MemoryLedger } from '../src/ledger/memory/memory-ledger.js';
import { LedgerIndex } from '../src/ledger/ledger-index.js';
import { SettleQueue } from '../src/ledger/settle-queue.js';
import type { ClusterProducer } from '../src/producer/cluster-producer.js';
import { ProducerContext } from '../src/producer/producer-context.js';
import { CollectingHub } from './collecting-hub.js';
import { textReport } from './tube-context.js';
import { SwitchableLedger } from './switchable-ledger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { withGoQueue } from './go-queue.js';

export const BACKUP_DELAY = 2_000;
const SETTINGS = { prefix: '', backupDelay: BACKUP_DELAY };

/** The number of copies in each state. */
export type CopyCounts = Record<'ready' | 'reserved' | 'delayed' | 'buried', number>;
export const NONE: CopyCounts = { ready: 0, reserved: 0, delayed: 0, buried: 0 };

/** Three embedded nodes, a memory ledger, and processes that consume a tube called `tube`. */
export class Consuming {
  readonly clock = new VirtualClock();
  readonly servers = Array.from({ length: 3 }, () => new InProcessNode(this.clock));
  readonly settings: LedgerSettings;
  readonly ledger: MemoryLedger;
  /** One connection to each node. */
  readonly observers = this.servers.map(
    (server) => new Connection(server.dial(), { clock: this.clock, deadline: 1e12 }),
  );
  readonly producer: ClusterProducer;
  private readonly processes: ConsumingProcess[] = [];

  constructor(readonly lease = 15_000) {
    this.settings = { lease, doneTtl: 600_000, staleAfter: 604_800_000 };
    this.ledger = new MemoryLedger({ settings: this.settings, clock: this.clock });
    this.producer = this.process().producer;
  }

  /** Starts one more process on the same nodes and ledger. */
  process(): ConsumingProcess {
    const made = new ConsumingProcess(this);
    this.processes.push(made);
    return made;
  }

  /** Waits until everything has happened that takes no time. */
  async settle(): Promise<void> {
    for (let i = 0; i < 5; i++) await this.clock.advance(0);
  }

  async add(delay: number, options?: JobOptions): Promise<JobReceipt> {
    const added = this.producer.delay('tube', { some: 'payload' }, delay, options);
    await this.settle();
    return added;
  }

  async addMany(count: number, delay: number): Promise<JobReceipt[]> {
    const added = Promise.all(Array.from({ length: count }, () => this.producer.delay('tube', {}, delay)));
    await this.settle();
    return added;
  }

  /** The copies on all nodes together. */
  async copies(): Promise<CopyCounts> {
    const stats = await this.stats();
    const sum = (kind: string) =>
      stats.reduce((total, each) => total + Number(each[`current-jobs-${kind}`]), 0);
    return {
      ready: sum('ready'),
      reserved: sum('reserved'),
      delayed: sum('delayed'),
      buried: sum('buried'),
    };
  }

  /** The number of reserves that wait, on all nodes together. */
  async waits(): Promise<number> {
    return (await this.stats()).reduce((total, each) => total + Number(each['current-waiting']), 0);
  }

  /** The number of releases, on all nodes together. */
  async releases(): Promise<number> {
    return (await this.stats()).reduce((total, each) => total + Number(each['cmd-release']), 0);
  }

  /** Stops the consumer. Resolves with the time that the stop took, in ms. */
  async stopped(consumer: TubeConsumer, limit: number): Promise<number> {
    const began = this.clock.now();
    let took: number | undefined;
    void consumer.stop(limit).then(() => (took = this.clock.now() - began));
    for (let i = 0; i < 1_000 && took === undefined; i++) await this.clock.advance(20);
    if (took === undefined) throw new Error('the consumer never stopped');
    return took;
  }

  async close(): Promise<void> {
    const stopped = Promise.all(this.processes.map(async ({ consumer }) => consumer?.stop(0)));
    await this.clock.advance(10_000);
    await stopped;
    for (const process of this.processes) process.close();
    for (const server of this.servers) server.close();
    await this.settle();
  }

  private async stats(): Promise<Stats[]> {
    const all: Stats[] = [];
    for (const observer of this.observers) {
      if (observer.closed) continue; // its node is gone with its copies
      const asked = observer.ask<Stats>((done) => observer.stats(done));
      await this.settle();
      all.push(await asked);
    }
    return all;
  }
}

/** The world of the test that runs, if its spec has called `consumingInEachTest`. */
export let world: Consuming;
export let clock: VirtualClock;

/** Gives each test a world of its own. Call it once in a spec. */
export function consumingInEachTest(): void {
  beforeEach(() => openWorld());
  afterEach(() => world.close());
}

export async function openWorld(lease?: number): Promise<void> {
  world = new Consuming(lease);
  ({ clock } = world);
  await world.settle();
}

/** One process, which may consume the tube. */
export class ConsumingProcess {
  readonly cluster: Cluster;
  readonly ledger: SwitchableLedger;
  readonly settleQueue: SettleQueue;
  readonly events = new CollectingHub();
  readonly producer: ClusterProducer;
  /** Reports, one string each. */
  readonly reports: string[] = [];
  consumer: TubeConsumer | undefined;
  /** The same for the producer and the consumer, as in `DqRuntime`. */
  readonly parts;

  constructor(private readonly world: Consuming) {
    const { servers, clock } = world;
    const nodes = servers.map((server, i) => new ClusterNode(`n${i}`, () => server.dial(), clock));
    const cluster = (this.cluster = new Cluster(nodes, { replicas: 3, minWritten: 2 }));
    const ledger = (this.ledger = new SwitchableLedger(world.ledger));
    const settleQueue = (this.settleQueue = new SettleQueue(world.ledger, clock, nodes, world.settings));
    const waiting = new LedgerIndex(ledger);
    const { adopt, sharedTubes, producer } = withGoQueue(clock);
    this.parts = { cluster, ledger, waiting, settleQueue, clock, events: this.events, adopt, sharedTubes };
    this.producer = producer(
      new ProducerContext({
        ...this.parts,
        settings: { ...SETTINGS, patience: 0, doneTtl: world.settings.doneTtl },
      }),
    );
    cluster.start();
  }

  /** Returns a consumer that is not started. */
  prepare(handler: HandlerMethod | BatchHandlerMethod, options: GivenOptions = {}): TubeConsumer {
    const { clock, lease } = this.world;
    const report = textReport(this.reports);
    const sharedLanes = sharedLanesTo(this.cluster.nodes, clock, report);
    const sharing = NOT_SHARED;
    const parts = { ...this.parts, report, sharedLanes, sharing, beats: beatsOf(clock, lease) };
    const handling = resolveHandlerOptions(options);
    this.consumer = new TubeConsumer('tube', handler, handling, { ...SETTINGS, lease }, parts);
    return this.consumer;
  }

  async consume(handler: HandlerMethod, options?: Omit<GivenOptions, 'batch'>): Promise<TubeConsumer> {
    const consumer = this.prepare(handler, options);
    consumer.start();
    await this.world.settle();
    return consumer;
  }

  async consumeBatches(
    batch: BatchHandlerOptions['batch'],
    handler: BatchHandlerMethod,
    options?: Omit<GivenOptions, 'batch'>,
  ): Promise<TubeConsumer> {
    const consumer = this.prepare(handler, { ...options, batch });
    consumer.start();
    await this.world.settle();
    return consumer;
  }

  /** Call it after its consumer has stopped. Idempotent. */
  close(): void {
    void this.settleQueue.close();
    this.cluster.close();
  }
}

export const forEver = (): Promise<never> => new Promise<never>(() => undefined);
