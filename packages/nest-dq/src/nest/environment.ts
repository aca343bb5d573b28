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
import type { WaitingJobs } from '../ledger/waiting-jobs.js';
import { StoredWaitingJobs } from '../embedded/stored-waiting-jobs.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import type { Servers } from './backend-options.js';
import { dialTo } from './dial.js';
import { resolveOptions, type DqOptions, type ResolvedOptions } from './options.js';

/** The nodes and the ledger of a cluster, as one application reaches them. */
export interface Backend {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  /** Of go-queue, for tubes that its services use. */
  readonly goQueueLocks: GoQueueLocks;
  /** The jobs that wait, for those who look. */
  readonly waiting: WaitingJobs;
  /** Why Redis does not answer now, if it does not; absent if there is no Redis. */
  readonly askRedis?: () => Promise<RedisDownState | undefined>;
  /** How the ledger is now. Never rejects. */
  readonly viewLedger: () => Promise<LedgerView>;
  /** Comes first, before anything is asked of it. `DQ_DISK`, `DQ_CONFIG`. */
  open(): Promise<void>;
  /** Awaits a stop of the consumer, which may take some of the clock's time. Default: the clock moves by itself. */
  readonly stopped?: (stop: Promise<void>) => Promise<void>;
  /** After the cluster and the ledger were closed. Idempotent, and allowed before `open`. */
  close(): Promise<void>;
}

/** Makes the clock and the backend of every cluster of an application. The test kit puts another one in its place. */
export interface Environment {
  readonly clock: Clock;
  /** `DQ_CONFIG`. `logger`: where the options have none. `name`: of the cluster. */
  resolve(options: DqOptions, logger: LoggerService, name: string | undefined): ResolvedOptions;
  /** Opens nothing, because nobody closes the backend of an application whose modules cannot be made. */
  backend(options: ResolvedOptions, name: string | undefined): Backend;
}

/** The same for all clusters: each module has its own provider of it. */
export const ENVIRONMENT = 'nest-dq:environment';

/** The machine's time, and the servers that the options name; without any, a node and a ledger in this process. */
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

/** In memory. With a folder, a disk stores what the node and the ledger have in memory. */
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
