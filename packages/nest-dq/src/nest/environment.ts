import { ClusterNode } from '../cluster/cluster-node.js';
import { Cluster } from '../cluster/cluster.js';
import { Disk } from '../disk/disk.js';
import { InProcessNode } from '../embedded/in-process-node.js';
import { startKeeperThread } from '../ledger/lease-keeper.js';
import type { Ledger } from '../ledger/ledger.js';
import { MemoryLedger } from '../ledger/memory-ledger.js';
import { RedisLedger } from '../ledger/redis-ledger.js';
import { systemClock, type Clock } from '../time.js';
import type { Servers } from './backend-options.js';
import { dialTcp } from './endpoint.js';
import { resolveOptions, type DqOptions, type ResolvedOptions } from './options.js';

/** What keeps a cluster's jobs and decides who runs them, as one application reaches it. */
export interface Backend {
  readonly cluster: Cluster;
  readonly ledger: Ledger;
  /** Whether Redis answers now; absent where there is none. */
  readonly askRedis?: () => Promise<boolean>;
  /** Awaits a stop of the consumer, which may take some of the clock's time. */
  stopped(stop: Promise<void>): Promise<void>;
  /** After the cluster and the ledger were closed. Idempotent. */
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
  /** `DQ_DISK`. */
  open(options: ResolvedOptions, parts: BackendParts): Promise<Backend>;
}

/** The same for all clusters: each module has its own provider of it. */
export const ENVIRONMENT = 'nest-dq:environment';

const EMBEDDED_ENDPOINT = 'embedded';

/** The machine's time, and the servers that the options name; without any, a node and a ledger in this process. */
export const realEnvironment: Environment = {
  clock: systemClock,
  resolve: resolveOptions,
  async open(options, parts) {
    if (options.servers) return onServers(options.servers, options, parts);
    return options.dir === undefined ? inMemory(options, parts) : onDisk(options.dir, options, parts);
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
    stopped: (stop) => stop,
    close: async () => undefined,
  };
}

function inMemory(settings: ResolvedOptions, { clock }: BackendParts): Backend {
  const node = new InProcessNode(clock);
  return {
    cluster: clusterOf(node, settings, clock),
    ledger: new MemoryLedger({ settings, clock }),
    stopped: (stop) => stop,
    close: async () => node.close(),
  };
}

async function onDisk(dir: string, settings: ResolvedOptions, { clock }: BackendParts): Promise<Backend> {
  const disk = await Disk.open(dir, clock);
  try {
    if (disk.warning !== undefined) settings.logger.warn(disk.warning);
    disk.onFailure(({ message }) => void settings.logger.error(message));
    const node = await InProcessNode.open(clock, disk);
    const ledger = await MemoryLedger.open({ settings, clock }, disk);
    return {
      cluster: clusterOf(node, settings, clock),
      ledger,
      stopped: (stop) => stop,
      close: async () => {
        node.close();
        await disk.close();
      },
    };
  } catch (error) {
    await disk.close();
    throw error;
  }
}

function clusterOf(node: InProcessNode, settings: ResolvedOptions, clock: Clock): Cluster {
  return new Cluster([new ClusterNode(EMBEDDED_ENDPOINT, () => node.dial(), clock)], settings);
}
