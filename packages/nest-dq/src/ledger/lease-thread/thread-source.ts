import { lookup, resolveSrv } from 'node:dns';
import { Cluster, type ClusterNode, type ClusterOptions, type RedisOptions } from 'ioredis';
import { isCluster, type LedgerConnection, type RedisSource } from '../redis/connection.js';

/** Where the ledger's Redis is, in a form that can be sent to a thread. */
export interface ThreadSource {
  /** Nodes of a Redis Cluster from which to discover the others. */
  readonly nodes?: readonly ClusterNode[];
  readonly options: RedisOptions | ClusterOptions;
}

/** Options that determine retries. The ledger has its own rules for them. */
const RETRIES = new Set([
  'retryStrategy',
  'reconnectOnError',
  'clusterRetryStrategy',
  'clusterNodeRetryStrategy',
  'sentinelRetryStrategy',
  'sentinelReconnectStrategy',
]);

/** The connection must have been established once. Throws a TypeError that names what can't be sent to a thread, such as a function. */
export function threadSource(connection: LedgerConnection): ThreadSource {
  const options = copyOptions(connection.options, '');
  if (!isCluster(connection)) return { options };
  return { nodes: connection.nodes().map(({ options: { host, port } }) => ({ host, port })), options };
}

/** Called in the thread. */
export function redisOf({ nodes, options }: ThreadSource): RedisSource {
  return nodes ? new Cluster([...nodes], { ...(options as ClusterOptions), lazyConnect: true }) : options;
}

function copyOptions(options: object, where: string): object {
  const entries = Object.entries(options)
    .filter(([name, value]) => !(RETRIES.has(name) || isDefault(value)))
    .map(([name, value]) => [name, copy(value, where + name)]);
  return Object.fromEntries(entries) as object;
}

function isDefault(value: unknown): boolean {
  return value === lookup || value === resolveSrv;
}

function copy(value: unknown, what: string): unknown {
  if (Array.isArray(value)) return value.map((each, i) => copy(each, `${what}[${i}]`));
  if (value instanceof Uint8Array) return value;
  if (typeof value === 'object' && value !== null && isPlain(value)) return copyOptions(value, `${what}.`);
  if (typeof value === 'object' ? value !== null : typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(
      `the Redis option \`${what}\` is ${typeof value === 'object' ? 'a class instance' : `a ${typeof value}`}, which cannot be passed to a thread`,
    );
  }
  return value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
