import type { LoggerService } from '@nestjs/common';
import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { Disk } from '../disk/disk.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import type { Fleet } from '../fleet/fleet.js';
import { LocalFleet } from '../fleet/local-fleet.js';
import { RedisFleet } from '../fleet/redis-fleet.js';
import type { GoQueueLocks } from '../go-queue/locks.js';
import { MemoryGoQueueLocks } from '../go-queue/memory-locks.js';
import { RedisGoQueueLocks } from '../go-queue/redis-locks.js';
import { startLeaseWorker } from '../ledger/lease-thread/lease-thread.js';
import { LedgerIndex } from '../ledger/ledger-index.js';
import type { RedisDownState } from '../health/health.js';
import type { LedgerView } from '../ledger/ledger-view.js';
import type { Ledger } from '../ledger/ledger.js';
import { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import { RedisLedger } from '../ledger/redis/redis-ledger.js';
import type { WaitingJobs } from '../ledger/waiting/waiting-jobs.js';
import { StoredWaitingJobs } from '../embedded/stored-waiting-jobs.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import type { Servers } from './backend-options.js';
import { dialTo } from './dial.js';
import { resolveOptions, type DqOptions, type ResolvedOptions } from './options.js';

/** A cluster's nodes and ledger, as seen from one application. */
export interface Backend {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  /** go-queue's locks, for tubes shared with its services. */
  readonly goQueueLocks: GoQueueLocks;
  /** Waiting jobs, for inspection. */
  readonly waiting: WaitingJobs;
  /** Resolves with the reason Redis isn't answering, if it isn't; absent if there is no Redis. */
  readonly askRedis?: () => Promise<RedisDownState | undefined>;
  /** Resolves with the current state of the ledger. Never rejects. */
  readonly viewLedger: () => Promise<LedgerView>;
  /** Opens the backend; must be called before anything else. `DQ_DISK`, `DQ_CONFIG`. */
  open(): Promise<void>;
  /** Awaits a consumer's stop, which may need the clock to advance. Only needed if the clock doesn't run on its own. */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
  /** Closes the backend, after the cluster and the ledger. Idempotent; may be called before `open`. */
  close(): Promise<void>;
}

/** Creates the clock and the backend of every cluster of an application. The test kit replaces it. */
export interface Environment {
  readonly clock: Clock;
  /** Validates the options; `DQ_CONFIG`. `logger` is the default logger, `name` the cluster's name. */
  resolve(options: DqOptions, logger: LoggerService, name: string | undefined): ResolvedOptions;
  /** Creates the backend but opens nothing, because nobody closes the backend of an application whose modules fail to initialize. */
  backend(options: ResolvedOptions, name: string | undefined): Backend;
}

/** Shared by all clusters; each module has its own provider of it. */
export const ENVIRONMENT = 'nest-dq:environment';

/** The system clock, with the servers named in the options, or an in-process node and ledger if there are none. */
export const realEnvironment: Environment = {
  clock: systemClock,
  resolve: resolveOptions,
  backend(options) {
    return options.servers ? onServers(options.servers, options, this.clock) : inProcess(options, this.clock);
  },
};

function onServers(
  { beanstalks, tls, redis, goQueueRedis }: Servers,
  settings: ResolvedOptions,
  clock: Clock,
): Backend {
  const nodes = beanstalks.map((endpoint) => new ClusterNode(endpoint.text, dialTo(endpoint, tls), clock));
  const { prefix } = settings;
  const warn = (message: string) => void settings.logger.warn(message);
  const ledger = new RedisLedger({ redis, settings, prefix, clock, warn, startLeaseWorker });
  return {
    cluster: new Cluster(nodes, settings),
    ledger,
    fleet: new RedisFleet(ledger, clock, warn),
    goQueueLocks: new RedisGoQueueLocks(goQueueRedis, clock, warn),
    waiting: new LedgerIndex(ledger, warn),
    askRedis: () => ledger.whyDown(),
    viewLedger: () => ledger.view(),
    open: () => ledger.open(),
    close: async () => undefined,
  };
}

/** In memory; with a folder, a disk persists the contents of the node and the ledger. */
function inProcess(settings: ResolvedOptions, clock: Clock): Backend {
  const { folder, logger } = settings;
  const warn = (message: string) => void logger.warn(message);
  const disk = folder && new Disk(folder.dir, clock, { ...folder, warn });
  const node = new InProcessNode(clock, disk);
  const ledger = new MemoryLedger({ settings, clock }, disk);
  const fleet = new LocalFleet(ledger);
  return {
    cluster: new Cluster([new ClusterNode('embedded', () => node.dial(), clock)], settings),
    ledger,
    fleet,
    goQueueLocks: new MemoryGoQueueLocks(clock),
    waiting: new StoredWaitingJobs([{ endpoint: 'embedded', node }], ledger),
    viewLedger: () => ledger.view(),
    open: async () => {
      if (!disk) return;
      await disk.open();
      disk.space.watch();
      disk.onFailure(({ message }) => void logger.error(message));
      await node.load();
      await ledger.load();
      await fleet.load();
    },
    close: async () => {
      node.close();
      await disk?.close();
    },
  };
}
