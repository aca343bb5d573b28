import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { Disk } from '../disk/disk.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { startKeeperThread } from '../ledger/lease-thread/lease-keeper.js';
import type { Ledger } from '../ledger/ledger.js';
import { MemoryLedger } from '../ledger/memory/memory-ledger.js';
import { RedisLedger } from '../ledger/redis/redis-ledger.js';
import { systemClock, type Clock } from '../time/clock.js';
import type { Folder, Servers } from './backend-options.js';
import { dialTcp } from './endpoint.js';
import { resolveOptions, type DqOptions, type ResolvedOptions } from './options.js';

/** What keeps a cluster's jobs and decides who runs them, as one application reaches it. */
export interface Backend {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  /** Whether Redis answers now; absent where there is none. */
  readonly askRedis?: () => Promise<boolean>;
  /** Before anything is asked of it, and the first that does anything. `DQ_DISK`, `DQ_CONFIG`. */
  open(): Promise<void>;
  /** Awaits a stop of the consumer, which may take some of the clock's time. */
  stopped(stop: Promise<void>): Promise<void>;
  /** After the cluster and the ledger were closed. Idempotent, also before `open`. */
  close(): Promise<void>;
}

export interface BackendParts {
  readonly clock: Clock;
  /** Of the cluster; undefined is that of the one without a name. */
  readonly name: string | undefined;
}

/** What every cluster of an application stands on. The test kit puts another one in its place. */
export interface Environment {
  readonly clock: Clock;
  /** `DQ_CONFIG`. */
  resolve(options: DqOptions, name: string | undefined): ResolvedOptions;
  /** Opens nothing: of an application whose modules cannot be made nobody would close it. */
  backend(options: ResolvedOptions, parts: BackendParts): Backend;
}

/** The same for all clusters: each module has its own provider of it. */
export const ENVIRONMENT = 'nest-dq:environment';

const EMBEDDED_ENDPOINT = 'embedded';

/** The machine's time, and the servers that the options name; without any, a node and a ledger in this process. */
export const realEnvironment: Environment = {
  clock: systemClock,
  resolve: resolveOptions,
  backend(options, parts) {
    if (options.servers) return onServers(options.servers, options, parts);
    return options.folder ? onDisk(options.folder, options, parts) : inMemory(options, parts);
  },
};

function onServers(
  { beanstalks, redis }: Servers,
  settings: ResolvedOptions,
  { clock }: BackendParts,
): Backend {
  const nodes = beanstalks.map((endpoint) => new ClusterNode(endpoint.text, dialTcp(endpoint), clock));
  const warn = (message: string) => void settings.logger.warn(message);
  const { prefix } = settings;
  const ledger = new RedisLedger({
    redis,
    settings,
    prefix,
    clock,
    warn,
    startKeeper: startKeeperThread,
  });
  return {
    cluster: new Cluster(nodes, settings),
    ledger,
    askRedis: () => ledger.ping(),
    open: () => ledger.open(),
    stopped: (stop) => stop,
    close: async () => undefined,
  };
}

function inMemory(settings: ResolvedOptions, { clock }: BackendParts): Backend {
  const node = new InProcessNode(clock);
  return {
    cluster: clusterOf(node, settings, clock),
    ledger: new MemoryLedger({ settings, clock }),
    open: async () => undefined,
    stopped: (stop) => stop,
    close: async () => node.close(),
  };
}

function onDisk({ dir, patience }: Folder, settings: ResolvedOptions, { clock }: BackendParts): Backend {
  const warn = (message: string) => void settings.logger.warn(message);
  const disk = new Disk(dir, clock, { patience, warn });
  const node = new InProcessNode(clock, {}, disk);
  const ledger = new MemoryLedger({ settings, clock }, disk);
  return {
    cluster: clusterOf(node, settings, clock),
    ledger,
    open: async () => {
      await disk.open();
      if (disk.warning !== undefined) warn(disk.warning);
      disk.onFailure(({ message }) => void settings.logger.error(message));
      await node.load();
      await ledger.load();
    },
    stopped: (stop) => stop,
    close: async () => {
      node.close();
      await disk.close();
    },
  };
}

function clusterOf(node: InProcessNode, settings: ResolvedOptions, clock: Clock): Cluster {
  return new Cluster([new ClusterNode(EMBEDDED_ENDPOINT, () => node.dial(), clock)], settings);
}
