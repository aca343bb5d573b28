import {
  startBeanstalkd,
  startRedis,
  type BeanstalkdServer,
  type NestDqServer,
  type RedisServer,
} from 'test-servers';

/** Where the servers of one system are. It is JSON, so that another process can get it. */
export interface Places {
  /** `host:port` of each node. */
  readonly beanstalks: readonly string[];
  /** URL of the Redis. */
  readonly redis: string;
  /** The ids of all these processes. */
  readonly pids: readonly number[];
}

/** A beanstalkd, or a `nest-dq serve`. */
export type NodeServer = BeanstalkdServer | NestDqServer;

/** New servers: nodes, by default beanstalkds with binlogs, and a Redis with an append-only file that it syncs every second. */
export class Servers implements Places {
  private constructor(
    readonly nodes: readonly NodeServer[],
    readonly redisServer: RedisServer,
  ) {}

  static async start(
    count: number,
    startNode: () => Promise<NodeServer> = startBeanstalkd,
  ): Promise<Servers> {
    const [redis, ...nodes] = await Promise.all([
      startRedis(),
      ...Array.from({ length: count }, () => startNode()),
    ]);
    return new Servers(nodes, redis);
  }

  get beanstalks(): string[] {
    return this.nodes.map(({ endpoint }) => endpoint);
  }

  get redis(): string {
    return this.redisServer.url;
  }

  get pids(): number[] {
    return [this.redisServer, ...this.nodes].map(({ pid }) => pid);
  }

  get places(): Places {
    return { beanstalks: this.beanstalks, redis: this.redis, pids: this.pids };
  }

  async stop(): Promise<void> {
    await Promise.all([this.redisServer, ...this.nodes].map((server) => server.stop()));
  }
}

/** Calls `use` with new servers, which are stopped after it. */
export async function withServers<T>(count: number, use: (servers: Servers) => Promise<T>): Promise<T> {
  const servers = await Servers.start(count);
  try {
    return await use(servers);
  } finally {
    await servers.stop();
  }
}
