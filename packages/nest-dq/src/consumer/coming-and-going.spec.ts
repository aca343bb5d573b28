import { describe, expect, it } from '@jest/globals';
import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import type { LedgerListener } from '../ledger/ledger.js';
import { MemoryLedger, type MemoryTubeLedger } from '../ledger/memory/memory-ledger.js';
import { LedgerIndex } from '../ledger/ledger-index.js';
import { SettleQueue } from '../ledger/settle-queue.js';
import { DEFAULT_LOG_LEVELS } from '../nest/log-levels.js';
import { LogReport } from '../nest/log-report.js';
import { ProducerContext } from '../producer/producer-context.js';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ClusterConsumer } from './consumer.js';
import { DEFAULT_HANDLER_SETTINGS } from './run/handler-settings.js';
import { withGoQueue } from '../../spec-support/go-queue.js';

const LEDGER = { lease: 15_000, doneTtl: 120_000, staleAfter: 604_800_000 };
const SETTINGS = {
  ...LEDGER,
  prefix: 'shop-',
  backupDelay: 2_000,
  patience: 0,
  shutdownTimeout: 1_000,
  handlers: DEFAULT_HANDLER_SETTINGS,
  consume: true,
  deadLetters: { maxAge: 30 * 86_400_000, maxCount: 10_000 },
};

/** Knows who listens to its tubes. */
class ListenedLedger extends MemoryLedger {
  readonly listeners = new Set<LedgerListener>();

  override tube(name: string): MemoryTubeLedger {
    return Object.assign(Object.create(super.tube(name)) as MemoryTubeLedger, {
      listen: (listener: LedgerListener) => {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
      },
    });
  }
}

/** All parts of a process, on three embedded nodes and a ledger in memory. */
class Process {
  readonly clock = new VirtualClock();
  readonly servers = Array.from({ length: 3 }, () => new InProcessNode(this.clock));
  readonly nodes = this.servers.map((server, i) => new ClusterNode(`n${i}`, () => server.dial(), this.clock));
  readonly cluster = new Cluster(this.nodes, { replicas: 3, minWritten: 2 });
  readonly ledger = new ListenedLedger({ settings: LEDGER, clock: this.clock });
  readonly settleQueue = new SettleQueue(this.ledger, this.clock, this.nodes, LEDGER);
  readonly report = new LogReport(new CollectingLogger(), DEFAULT_LOG_LEVELS, this.clock);
  private readonly goQueue = withGoQueue(this.clock);
  private readonly parts = {
    cluster: this.cluster,
    ledger: this.ledger,
    waiting: new LedgerIndex(this.ledger),
    settleQueue: this.settleQueue,
    clock: this.clock,
    report: this.report,
    events: new CollectingHub(),
    ...this.goQueue,
  };
  readonly producer = this.goQueue.producer(new ProducerContext({ ...this.parts, settings: SETTINGS }));
  readonly consumer = new ClusterConsumer(SETTINGS, this.parts);

  async start(): Promise<void> {
    for (const node of this.nodes) node.listen(this.report);
    this.cluster.start();
    this.consumer.start();
    await this.clock.advance(1_000);
  }

  async after<T>(ms: number, call: Promise<T>): Promise<T> {
    await this.clock.advance(ms);
    return call;
  }

  /** Consumes a tube, runs jobs in it, and stops. */
  async comeAndGo(tube: string): Promise<void> {
    let runs = 0;
    const { consumer, producer } = this;
    const consumption = await consumer.consume(tube, () => void runs++);
    await this.after(20, producer.now(tube, 'plain'));
    await this.after(20, producer.now(tube, 'keyed', { key: 'key' })); // the second one makes the tube busy
    await this.after(20, producer.now(tube, 'third'));
    if (runs !== 3) throw new Error(`${tube} ran ${runs} jobs`);
    await this.after(100, consumption.stop());
  }

  /** Until all that is remembered for a time is forgotten. */
  async forget(): Promise<void> {
    await this.clock.advance(LEDGER.doneTtl + 100_000);
    this.parts.events.tally.take(); // as a process does every ten seconds, for its history
    const other = this.ledger.tube('other');
    for (let i = 0; i < 4; i++) await other.find(Array.from({ length: 1_000 }, String));
  }
}

/** Everything that can be reached from an object, and the way there; but not what only closures hold. */
function reachable(root: object): Map<unknown, string> {
  const found = new Map<unknown, string>([[root, '']]);
  for (const [each, way] of found) {
    if (typeof each !== 'object' || each === null || ArrayBuffer.isView(each)) continue;
    const go = (next: unknown, how: string) => {
      const isThing = typeof next === 'object' || typeof next === 'function' || typeof next === 'string';
      if (isThing && !found.has(next)) found.set(next, `${way}.${how}`);
    };
    if (each instanceof Map) for (const [key, value] of each) [key, value].forEach((one) => go(one, 'entry'));
    if (each instanceof Set) for (const value of each) go(value, 'value');
    for (const key of Reflect.ownKeys(each)) go(Reflect.get(each, key), String(key));
  }
  return found;
}

describe('a process in which tubes come and go', () => {
  it('keeps nothing of them, except a thousand names whose time it has read', async () => {
    const process = new Process();
    await process.start();
    for (let i = 0; i < 5; i++) await process.comeAndGo(`first-${i}`);
    await process.forget();
    const before = reachable(process);

    for (let i = 0; i < 200; i++) await process.comeAndGo(`gone-${i}`);
    const names = (all: ReadonlyMap<unknown, string>) =>
      Array.from(all).filter(([each]) => typeof each === 'string' && each.includes('gone-'));
    expect(names(reachable(process)).length).toBeGreaterThanOrEqual(200);

    await process.forget();
    const after = reachable(process);
    // Each name counts once, where it is first found. A connection also remembers the tube that it used last.
    const ways = new Set(names(after).map(([, way]) => way));
    expect([...ways]).toEqual(['.nodes.0.link.connection.used', '.producer.context.dueTimes.known.value']);
    expect(after.size - before.size).toBe(200);
  });
});
