import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster, type ClusterSettings } from '../cluster/cluster.js';
import { MemoryGoQueueLocks } from '../go-queue/memory-locks.js';
import { unwrap } from '../copies/formats/unwrap.js';
import type { CopyHeader } from '../copies/header.js';
import { decodePayload } from '../copies/payload.js';
import type { JobOptions } from '../api/job.js';
import { PRIORITIES } from '../api/job-options.js';
import type { TubeCodecs } from '../api/payload-codec.js';
import { storedTube } from '../api/tube.js';
import type { LedgerSettings } from '../ledger/ledger.js';
import { LocalFleet } from '../fleet/local-fleet.js';
import { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import { StoredWaitingJobs } from '../embedded/stored-waiting-jobs.js';
import type { Clock, Timer } from 'nest-handlers/time';
import type { ResolvedOptions } from '../nest/options.js';
import type { Duplex } from 'node:stream';
import { InProcessNode } from '../embedded/in-process-node.js';

/** A job waiting for its time, or for its next attempt. */
export interface ScheduledJob<P = unknown> {
  /** Same as the receipt's. */
  readonly id: string;
  /** Tube name without the prefix. */
  readonly tube: string;
  /** Absent for a plain job. */
  readonly key?: string;
  /** Payload as stored: after JSON or the tube's codec, before its schema transforms it. */
  readonly payload: P;
  /** When the job runs (next), by the kit's clock. */
  readonly dueAt: Date;
  /** Options of the add. */
  readonly options: JobOptions;
}

/** Stands in for the servers of one cluster. Shared by all applications under the kit whose cluster has its name. */
export class KitCluster {
  readonly nodes: readonly KitNode[];
  readonly ledger: MemoryLedger;
  readonly waiting: StoredWaitingJobs;
  /** Shared, so that the applications see each other. */
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

  /** Returns one application's view of the nodes. Sends no pings, which would take most of the time of an advance. */
  reach(settings: ClusterSettings): Cluster {
    const nodes = this.nodes.map(
      (node, index) => new ClusterNode(`node-${index}`, () => node.dial(), node.clock, Infinity),
    );
    return new Cluster(nodes, settings);
  }

  /**
   * Returns when the next job of these tubes changes state on its own, or a pause ends, in `Clock.now` time; -Infinity while a
   * job is held.
   */
  nextChange(ofTube: (name: string) => boolean): number {
    const { clock, ledger } = this;
    const now = ledger.now();
    const pauseEnd = ledger.records.nextPauseEnd(now) - now + clock.now();
    return Math.min(pauseEnd, ...this.nodes.map(({ node }) => node.nextChange(ofTube)));
  }

  /** Returns the waiting jobs of a tube, soonest first. `DQ_BAD_PAYLOAD` if one was written by a codec that isn't among these. */
  scheduled(tube: string, codecs: TubeCodecs | undefined): ScheduledJob[] {
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
        payload: decodePayload(content, codecs),
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

/** In ms. A shorter timer is a pause before a retry, or waits for an unresponsive node. */
const SHORT = 500;

/** An embedded node that can be made unreachable: its time continues meanwhile, and it keeps its data. */
class KitNode {
  readonly node: InProcessNode;
  /** Clock for the node's clients. Short timers of a sleeping node fire at once, or an add would wait for the test to move the clock. */
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
    if (this.asleep) return stream.destroy(new Error('the node is asleep'));
    this.streams.add(stream);
    stream.once('close', () => this.streams.delete(stream));
    return stream;
  }

  /** Cuts all connections, which releases held jobs. Idempotent. */
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
