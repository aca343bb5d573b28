import type { Cluster } from 'nest-dq/src/cluster/cluster.js';
import type { Fleet } from 'nest-dq/src/fleet/fleet.js';
import type { Ledger } from 'nest-dq/src/ledger/ledger.js';
import { realEnvironment } from 'nest-dq/src/nest/environment.js';
import type { DqOptions } from 'nest-dq/src/nest/options.js';
import { DqRuntime } from 'nest-dq/src/nest/runtime.js';
import { startBeanstalkd, startRedis, type BeanstalkdServer, type RedisServer } from 'test-servers';

/** The servers of a small cluster: three beanstalkds with binlogs, and a Redis with an append-only file. */
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

type Parts =
  | 'producer'
  | 'consumer'
  | 'deadLetters'
  | 'inspector'
  | 'control'
  | 'health'
  | 'process'
  | 'events'
  | 'series';

/** The library in one process, without Nest, so that a test can look into its parts. */
export interface System extends Pick<DqRuntime, Parts> {
  readonly nodes: Cluster['nodes'];
  readonly ledger: Ledger;
  readonly fleet: Fleet;
  /** The messages that were logged. */
  readonly log: string[];
  readonly stop: () => Promise<void>;
}

/** Starts the library on these servers, as one process of a cluster does; without `repair`, so that copies stay where a test put them. */
export function startSystem(servers: Servers, options: DqOptions = {}): System {
  const log: string[] = [];
  const note = (message: string) => void log.push(message);
  const logger = { log: note, warn: note, error: note };
  const given = { ...optionsOf(servers), repair: false, ...options };
  const resolved = realEnvironment.resolve(given, logger, undefined);
  const backend = realEnvironment.backend(resolved, undefined);
  const runtime = new DqRuntime(resolved, realEnvironment.clock, backend);
  runtime.start();
  runtime.consumer.start();
  const { producer, consumer, deadLetters, inspector, control, health, process, events, series } = runtime;
  const stop = async () => {
    await runtime.stop();
    await runtime.close();
  };
  return {
    producer,
    consumer,
    deadLetters,
    inspector,
    control,
    health,
    process,
    events,
    series,
    nodes: backend.cluster.nodes,
    ledger: backend.ledger,
    fleet: backend.fleet,
    log,
    stop,
  };
}

/** The options that lead an application to the servers. */
export function optionsOf({ beanstalkds, redis }: Pick<Servers, 'beanstalkds' | 'redis'>) {
  return { beanstalks: beanstalkds.map(({ endpoint }) => endpoint), redis: redis.url };
}
