export { buildConfluent, findConfluent } from './confluent.js';
export { Authority, type Certificate, type KeyPair } from './certificate.js';
export { startBeanstalkd, type BeanstalkdOptions, type BeanstalkdServer } from './beanstalkd.js';
export {
  ensureGoQueue,
  findGoQueue,
  GoQueueProcess,
  type GoQueueEvent,
  type GoQueueMeasured,
} from './go-queue.js';
export { percentile, tableLine } from './figures.js';
export { runCommand, untilSignal, type Command } from './command.js';
export { FakeClock } from './faketime.js';
export { ensureKafkaArchive, startKafka, startKafkaCluster, type KafkaServer } from './kafka.js';
export { ensureKafka } from './kafka-program.js';
export { unsignedToken, type KafkaOptions, type KafkaUser } from './kafka-properties.js';
export { startMariadb, type MariadbServer } from './mariadb.js';
export { startNestDqServer, type NestDqServer, type NestDqServerOptions } from './nest-dq-server.js';
export { Proxy, type Carrier, type Link, type Target } from './proxy.js';
export { startPostgres, type PostgresServer } from './postgres.js';
export { startRedis, type RedisOptions, type RedisServer } from './redis.js';
export { ensurePackaged, ensureServers, type Host, type PackagedName, type ProgramName } from './programs.js';
export { ensureSchemaRegistry, startSchemaRegistry, type SchemaRegistryServer } from './schema-registry.js';
export { startSentinel, type SentinelOptions, type SentinelServer } from './sentinel.js';
export { startStunnel, type StunnelOptions, type StunnelServer } from './stunnel.js';
export { eventually } from './waiting.js';
export {
  ask,
  askAll,
  nodeCopies,
  nodeCounter,
  nodeStats,
  putRaw,
  WireConnection,
  type Address,
  type NodeStats,
} from './wire.js';
