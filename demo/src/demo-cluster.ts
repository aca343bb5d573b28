import { connect } from 'node:net';
import { startBeanstalkd, startRedis, type BeanstalkdServer, type RedisServer } from 'test-servers';

const NODES = 3;
/** Milliseconds. */
const REPLY_LIMIT = 5_000;
const COUNTS = /^current-jobs-(?:ready|reserved|delayed|buried): (\d+)$/gm;

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
    const counts = await Promise.all(this.nodes.map(copiesOn));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all([this.redis, ...this.nodes].map((server) => server.stop()));
  }
}

function copiesOn({ host, port, endpoint }: BeanstalkdServer): Promise<number> {
  return new Promise((resolve, reject) => {
    let stats = '';
    const socket = connect({ host, port }, () => socket.write('stats\r\nquit\r\n'));
    socket.setEncoding('utf8').setTimeout(REPLY_LIMIT, () => socket.destroy(new Error('no reply')));
    socket.on('data', (text: string) => (stats += text));
    socket.on('error', reject);
    socket.on('close', () => {
      const counts = [...stats.matchAll(COUNTS)].map(([, count]) => Number(count));
      if (counts.length === 4) resolve(counts.reduce((sum, count) => sum + count, 0));
      else reject(new Error(`${endpoint} told no statistics`));
    });
  });
}
