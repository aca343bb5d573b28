import { ClusterNode } from 'nest-dq/src/cluster/cluster-node.js';
import { Cluster } from 'nest-dq/src/cluster/cluster.js';
import type { DelayedJob, LimitOptions } from 'nest-dq/src/api/job.js';
import { LocalFleet } from 'nest-dq/src/fleet/local-fleet.js';
import { MemoryGoQueueLocks } from 'nest-dq/src/go-queue/memory-locks.js';
import { LedgerIndex } from 'nest-dq/src/ledger/ledger-index.js';
import type { LedgerSettings } from 'nest-dq/src/ledger/ledger.js';
import { resolveOptions } from 'nest-dq/src/nest/options.js';
import { DqRuntime } from 'nest-dq/src/nest/runtime.js';
import type { Clock } from 'nest-handlers/time';
import { HostClock } from './host-clock.js';
import { TUBE } from './plan.js';
import type { LedgerLink, SimulatedLedger } from './simulated-ledger.js';
import type { SimulatedNode } from './simulated-node.js';

/** `shutdownTimeout` of all processes, in ms. */
const SHUTDOWN_TIMEOUT = 3_000;

/** Shared by all processes of the simulated world. */
export interface Surroundings {
  readonly world: Clock;
  readonly nodes: readonly SimulatedNode[];
  readonly ledger: SimulatedLedger;
  readonly settings: LedgerSettings & {
    readonly backupDelay: number;
    readonly concurrency: number;
    readonly limit?: LimitOptions | undefined;
    readonly onExpired?: 'end' | 'letter';
    readonly patience: number;
  };
  /** Runs the handler. */
  handle(process: SimulatedProcess, payload: number, job: DelayedJob): Promise<unknown>;
  report(process: SimulatedProcess, text: string): void;
}

/** One process with the library: a producer and a consumer of the one tube. */
export class SimulatedProcess {
  readonly clock: HostClock;
  readonly ledger: LedgerLink;
  readonly producer: DqRuntime['producer'];
  readonly deadLetters: DqRuntime['deadLetters'];
  private readonly runtime: DqRuntime;

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
    const { concurrency, limit, onExpired, mostIndexed = 0, patience, ...advanced } = settings;
    const backoff = { type: 'fixed', delay: 1_000, max: 1_000, jitter: 0.2 } as const;
    const say = (text: string) => surroundings.report(this, text);
    const logger = { log: say, warn: say, error: say };
    const logLevels = { retries: 'off', discards: 'off', deadLetters: 'off', servers: 'off' } as const;
    const handlers = { concurrency, attempts: 5, backoff };
    const deadLetters = { maxCount: 2 }; // so few that some plans have more
    const given = { patience, advanced, deadLetters, shutdownTimeout: SHUTDOWN_TIMEOUT, handlers, logLevels };
    const resolved = resolveOptions(given, logger, undefined, nodes.length);
    const options = { ...resolved, mostIndexed };
    const nothing = () => Promise.resolve();
    const viewLedger = async () => ({ kind: 'redis', up: true, servers: [], problems: [] }) as const;
    const waiting = new LedgerIndex(this.ledger);
    const goQueueLocks = new MemoryGoQueueLocks(clock);
    const fleet = new LocalFleet({ now: () => this.ledger.now() });
    const parts = { cluster, ledger: this.ledger, fleet, waiting, goQueueLocks };
    const backend = { ...parts, viewLedger, open: nothing, close: nothing };
    const runtime = (this.runtime = new DqRuntime(options, clock, backend));
    this.producer = runtime.producer;
    this.deadLetters = runtime.deadLetters;
    runtime.start();
    runtime.consumer.start();
    const handle = (payload: { readonly number: number }, job: DelayedJob) =>
      surroundings.handle(this, payload.number, job);
    void runtime.consumer.consume(TUBE, handle, { limit, onExpired });
  }

  /** Drains as after a SIGTERM. The caller has to kill it then. */
  stop(): Promise<void> {
    return this.runtime.stop();
  }

  /** Ends it at once, as SIGKILL does. */
  kill(): void {
    this.clock.kill();
    for (const node of this.surroundings.nodes) node.cut(this.clock);
    this.surroundings.ledger.forget(this.ledger);
  }
}
