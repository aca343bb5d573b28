import type { Cluster } from '../cluster/cluster.js';
import { DqHealth, type DqHealthState } from './health.js';

export class ClusterHealth extends DqHealth {
  constructor(
    private readonly cluster: Cluster,
    /** Whether Redis answers now; absent if there is no Redis. */
    private readonly askRedis: (() => Promise<boolean>) | undefined,
  ) {
    super();
  }

  override async check<Key extends string = 'dq'>(key?: Key): Promise<Record<Key, DqHealthState>> {
    const { askRedis, cluster } = this;
    const redis = askRedis ? ((await askRedis()) ? 'up' : 'down') : 'none';
    const { nodes, settings } = cluster;
    const usable = nodes.filter(({ reason }) => reason === 'up').length;
    const status = redis === 'down' || usable < settings.minWritten ? 'down' : 'up';
    const reasons = Object.fromEntries(nodes.map(({ endpoint, reason }) => [endpoint, reason]));
    return { [key ?? 'dq']: { status, nodes: reasons, redis } } as Record<Key, DqHealthState>;
  }
}
