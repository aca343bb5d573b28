/** The brokers behind clients of kafkajs, which it hands out nowhere. */
import type { Cluster, Kafka } from 'kafkajs';

/** Calls back for each cluster that this client makes: for each of its producers and consumers. */
export function eachCluster(kafka: Kafka, made: (cluster: Cluster) => void): void {
  const hidden = kafka as unknown as Record<symbol, (options: object) => Cluster>;
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create = name && hidden[name];
  if (!create) throw new Error('this version of kafkajs makes its clusters in another way');
  hidden[name] = (options) => {
    const cluster = create(options);
    made(cluster);
    return cluster;
  };
}

/** Calls back for each broker of this cluster before it is used, the seed broker too. @typeParam B What of it is used. */
export function eachBroker<B extends object>(cluster: Cluster, made: (broker: B) => void): void {
  const { brokerPool } = cluster as unknown as { readonly brokerPool: { createBroker(options: object): B } };
  const create = brokerPool.createBroker.bind(brokerPool);
  brokerPool.createBroker = (options) => {
    const broker = create(options);
    made(broker);
    return broker;
  };
}

/**
 * Calls back for each pool of connections that this cluster makes, before it is used: one for each broker, also for the one
 * by which it finds the others. @typeParam P What of it is used.
 */
export function eachPool<P extends object>(cluster: Cluster, made: (pool: P) => void): void {
  const { connectionPoolBuilder: builder } = cluster as unknown as {
    readonly connectionPoolBuilder: { build(to?: object): Promise<P> };
  };
  const build = builder.build.bind(builder);
  builder.build = async (to) => {
    const pool = await build(to);
    made(pool);
    return pool;
  };
}
