import {
  nodeCopies,
  startBeanstalkd,
  startRedis,
  type BeanstalkdServer,
  type RedisServer,
} from 'test-servers';

const NODES = 3;

/** Three beanstalkds with binlogs and a Redis: real processes of this machine, which end with this one. */
export class DemoCluster {
  private readonly nodes: BeanstalkdServer[] = [];

  private constructor(private readonly redis: RedisServer) {}

  static async start(): Promise<DemoCluster> {
    const cluster = new DemoCluster(await startRedis());
    try {
      while (cluster.nodes.length < NODES) cluster.nodes.push(await startBeanstalkd());
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get options(): { beanstalks: string[]; redis: string } {
    return { beanstalks: this.nodes.map(({ endpoint }) => endpoint), redis: this.redis.url };
  }

  /** The node that is killed and comes back. */
  get victim(): BeanstalkdServer {
    return this.nodes[0] as BeanstalkdServer;
  }

  /** How many copies of jobs the nodes hold, by their own account. Rejects when one does not answer. */
  async copies(): Promise<number> {
    const counts = await Promise.all(this.nodes.map(nodeCopies));
    return counts.reduce((sum, { live, buried }) => sum + live + buried, 0);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all([this.redis, ...this.nodes].map((server) => server.stop()));
  }
}
