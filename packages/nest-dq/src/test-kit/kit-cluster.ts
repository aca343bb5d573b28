import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster, type ClusterSettings } from '../cluster/cluster.js';
import { MemoryGoQueueLocks } from '../go-queue/memory-locks.js';
import { unwrap } from '../copies/formats/unwrap.js';
import type { CopyHeader } from '../copies/header.js';
import { decodePayload } from '../copies/payload.js';
import type { JobOptions } from '../api/job.js';
import { PRIORITIES } from '../api/job-options.js';
import { storedTube } from '../api/tube.js';
import type { LedgerSettings } from '../ledger/ledger.js';
import { LocalFleet } from '../fleet/local-fleet.js';
import { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import { StoredWaitingJobs } from '../embedded/stored-waiting-jobs.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { ResolvedOptions } from '../nest/options.js';
import type { Duplex } from 'node:stream';
import { InProcessNode } from '../embedded/in-process-node.js';

/** A job that waits for its time, or for its next attempt. */
export interface ScheduledJob<P = unknown> {
  /** The receipt's. */
  readonly id: string;
  /** Without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** As it is stored: after JSON, and before the tube's schema makes something of it. */
  readonly payload: P;
  /** By the kit's clock: when it runs (next). */
  readonly dueAt: Date;
  /** What was said of it on adding. */
  readonly options: JobOptions;
}

/** Stands for the servers of one cluster. All applications under the kit share it, as far as their cluster has its name. */
export class KitCluster {
  readonly nodes: readonly KitNode[];
  readonly ledger: MemoryLedger;
  readonly waiting: StoredWaitingJobs;
  /** The applications see each other. */
  readonly fleet: LocalFleet;
  readonly goQueueLocks: MemoryGoQueueLocks;

  constructor(
    count: number,
    readonly settings: LedgerSettings & Pick<ResolvedOptions, 'prefix' | 'seal'>,
    private readonly clock: Clock,
  ) {
    this.goQueueLocks = new MemoryGoQueueLocks(clock);
    this.nodes = Array.from({ length: count }, () => new KitNode(clock));
    this.ledger = new MemoryLedger({ settings, clock });
    const named = this.nodes.map(({ node }, index) => ({ endpoint: `node-${index}`, node }));
    this.waiting = new StoredWaitingJobs(named, this.ledger);
    this.fleet = new LocalFleet(this.ledger);
  }

  /** One application's way to the nodes. It sends no pings, as they took most of the time of a journey. */
  reach(settings: ClusterSettings): Cluster {
    const nodes = this.nodes.map(
      (node, index) => new ClusterNode(`node-${index}`, () => node.dial(), node.clock, Infinity),
    );
    return new Cluster(nodes, settings);
  }

  /** When the next job of these tubes changes its state by itself, or a pause ends, by `Clock.now`; -Infinity while a job is held. */
  nextChange(ofTube: (name: string) => boolean): number {
    const { clock, ledger } = this;
    const now = ledger.now();
    const pauseEnd = ledger.records.nextPauseEnd(now) - now + clock.now();
    return Math.min(pauseEnd, ...this.nodes.map(({ node }) => node.nextChange(ofTube)));
  }

  /** The soonest first. */
  scheduled(tube: string): ScheduledJob[] {
    const storedAs = storedTube(tube, this.settings.prefix);
    const ledger = this.ledger.tube(storedAs);
    const waiting = new Map<string, ScheduledJob>();
    for (const body of this.nodes.flatMap(({ node }) => node.bodies(storedAs))) {
      const envelope = unwrap(body, storedAs, this.settings.seal);
      if (typeof envelope === 'string') continue;
      const { header, content } = envelope;
      const { id, generation, key, due } = header;
      const known = ledger.look(id);
      if (known && (known.state !== 'waiting' || known.generation !== generation)) continue;
      waiting.set(id, {
        id,
        tube,
        ...(key === undefined ? {} : { key }),
        payload: decodePayload(content),
        dueAt: new Date(known?.due ?? due),
        options: optionsOf(header),
      });
    }
    return [...waiting.values()].sort((a, b) => a.dueAt.getTime() - b.dueAt.getTime());
  }

  close(): void {
    for (const { node } of this.nodes) node.close();
  }
}

function optionsOf({ key, priority, attempts, backoff, headers, group }: CopyHeader): JobOptions {
  return {
    ...(key === undefined ? {} : { key }),
    ...(priority === 1 ? {} : { priority: PRIORITIES[priority]! }),
    ...(attempts === undefined ? {} : { attempts }),
    ...(backoff === undefined ? {} : { backoff }),
    ...(headers === undefined ? {} : { headers: { ...headers } }),
    ...(group === undefined ? {} : { group }),
  };
}

/** Milliseconds. A shorter timer is a pause before the next try, or waits for a node that does not answer. */
const SHORT = 500;

/** An embedded node that can be out of reach: its time goes on then, and it keeps what it has. */
class KitNode {
  readonly node: InProcessNode;
  /** For the clients of the node. No time passes for a node that sleeps, or an add would wait for the test to move the clock. */
  readonly clock: Clock;
  private asleep = false;
  private readonly streams = new Set<Duplex>();

  constructor(clock: Clock) {
    this.node = new InProcessNode(clock);
    this.clock = {
      wall: () => clock.wall(),
      now: () => clock.now(),
      next: (callback) => clock.next(callback),
      soon: (callback) => clock.soon(callback),
      after: (delay, callback) =>
        this.asleep && delay <= SHORT ? atOnce(clock, callback) : clock.after(delay, callback),
    };
  }

  dial(): Duplex {
    const stream = this.node.dial();
    if (this.asleep) return stream.destroy(new Error('the node sleeps'));
    this.streams.add(stream);
    stream.once('close', () => this.streams.delete(stream));
    return stream;
  }

  /** Cuts all connections, which releases the jobs that were held. Idempotent. */
  sleep(): void {
    this.asleep = true;
    for (const stream of this.streams) stream.destroy();
  }

  wake(): void {
    this.asleep = false;
  }
}

function atOnce(clock: Clock, callback: () => void): Timer {
  let cancelled = false;
  clock.soon(() => {
    if (!cancelled) callback();
  });
  return { cancel: () => void (cancelled = true) };
}
