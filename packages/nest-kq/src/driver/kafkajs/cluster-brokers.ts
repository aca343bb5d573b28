/** Access to the brokers behind clients of kafkajs, which kafkajs doesn't expose. */
import type { Cluster, Kafka } from 'kafkajs';

/** Calls back for each cluster this client creates: one per producer and consumer. */
export function eachCluster(kafka: Kafka, made: (cluster: Cluster) => void): void {
  const hidden = kafka as unknown as Record<symbol, (options: object) => Cluster>;
  const name = Object.getOwnPropertySymbols(kafka).find(
    ({ description }) => description === 'private:Kafka:createCluster',
  );
  const create = name && hidden[name];
  if (!create) throw new Error('this version of kafkajs creates its clusters differently');
  hidden[name] = (options) => {
    const cluster = create(options);
    made(cluster);
    return cluster;
  };
}

/**
 * Calls back for each broker of this cluster before it is used, including the seed broker. @typeParam B The part of it in use.
 */
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
 * Calls back for each connection pool this cluster creates, before it is used: one per broker, and one for the seed broker.
 * @typeParam P The part of it in use.
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
