import { startBeanstalkd, startRedis, type BeanstalkdServer, type RedisServer } from 'test-servers';

/** Where the servers of one system are. It is JSON, so that another process can get it. */
export interface Places {
  /** `host:port` of each beanstalkd. */
  readonly beanstalks: readonly string[];
  /** URL of the Redis. */
  readonly redis: string;
}

/** New servers: beanstalkds with binlogs, and a Redis with an append-only file that it syncs every second. */
export class Servers implements Places {
  private constructor(
    readonly beanstalkds: readonly BeanstalkdServer[],
    readonly redisServer: RedisServer,
  ) {}

  static async start(nodes: number): Promise<Servers> {
    const [redis, ...beanstalkds] = await Promise.all([
      startRedis(),
      ...Array.from({ length: nodes }, () => startBeanstalkd()),
    ]);
    return new Servers(beanstalkds, redis);
  }

  get beanstalks(): string[] {
    return this.beanstalkds.map(({ endpoint }) => endpoint);
  }

  get redis(): string {
    return this.redisServer.url;
  }

  get places(): Places {
    return { beanstalks: this.beanstalks, redis: this.redis };
  }

  /** Process ids. */
  get pids(): number[] {
    return [this.redisServer, ...this.beanstalkds].map(({ pid }) => pid);
  }

  async stop(): Promise<void> {
    await Promise.all([this.redisServer, ...this.beanstalkds].map((server) => server.stop()));
  }
}
