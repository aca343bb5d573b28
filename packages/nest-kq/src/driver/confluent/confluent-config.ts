/** Translates our options to librdkafka's. */
import type { ConnectionOptions } from 'node:tls';
import { KqError, show, wrongValue } from '../../errors.js';
import type { ClientSettings, SaslOptions } from '../client-options.js';
import { REBALANCE_TIMEOUT, SESSION_TIMEOUT, type MemberOptions, type ProducerOptions } from '../driver.js';
import { tokenOf } from '../sasl-token.js';
import type { Config } from './confluent-api.js';

/** librdkafka's maximum. The brokers have limits of their own, and theirs decide. */
const MAX_BYTES = 1_000_000_000;
const MAX_KILOBYTES = 2_147_483_647;
/** Max prefetched messages and KB of a member, over all its partitions; one broker response may come on top. */
const FETCHED = { messages: 100_000, kilobytes: 16_384 };
/** Pause before the next fetch once that much is queued. librdkafka's default of a second would outlast the queue. */
const FETCH_PAUSE_MS = 10;
/** How long a broker holds a fetch it has nothing for. */
const MAX_WAIT_MS = 250;
/** Time after which the brokers abort an unfinished transaction. */
export const TRANSACTION_TIMEOUT_MS = 60_000;

/** Returns the settings of a client that neither produces nor reads. */
export function adminConfig({
  brokers,
  clientId,
  ssl,
  sasl,
  connectionTimeout,
  requestTimeout,
}: ClientSettings): Config {
  return {
    'bootstrap.servers': brokers.join(','),
    'client.id': clientId,
    'security.protocol': `${sasl ? 'sasl_' : ''}${ssl ? 'ssl' : 'plaintext'}`,
    'socket.connection.setup.timeout.ms': Math.max(1_000, connectionTimeout),
    'socket.timeout.ms': requestTimeout,
    'reconnect.backoff.ms': 100,
    'reconnect.backoff.max.ms': 1_000,
    log_level: 0, // otherwise it writes to stderr; errors and events report what matters
    ...(sasl ? login(sasl) : {}),
    ...(typeof ssl === 'object' ? tls(ssl) : {}),
  };
}

function login(sasl: SaslOptions): Config {
  const mechanism = { 'sasl.mechanisms': sasl.mechanism.toUpperCase() };
  if (sasl.mechanism !== 'oauthbearer')
    return { ...mechanism, 'sasl.username': sasl.username, 'sasl.password': sasl.password };
  return { ...mechanism, oauthbearer_token_refresh_cb: () => librdkafkaToken(sasl.token) };
}

/** Called again after four fifths of the lifetime. */
async function librdkafkaToken(ask: Parameters<typeof tokenOf>[0]) {
  const { value, lifetime, principal, extensions } = await tokenOf(ask);
  if (lifetime !== undefined) return { tokenValue: value, lifetime, principal, extensions };
  const expected = 'the expiry time, in milliseconds since 1970';
  throw new KqError(
    'KQ_CONFIG',
    `\`lifetime\` is missing in the result of \`sasl.token\`: expected ${expected}`,
  );
}

export function producerConfig(settings: ClientSettings, options: ProducerOptions, patience: number): Config {
  const { compression = 'none', transactionalId } = options;
  const longest = transactionalId === undefined ? patience : Math.min(patience, TRANSACTION_TIMEOUT_MS);
  return {
    ...adminConfig(settings),
    'enable.idempotence': true,
    'compression.codec': compression,
    'message.timeout.ms': Math.max(1, longest),
    'request.timeout.ms': settings.requestTimeout,
    'message.max.bytes': MAX_BYTES,
    'linger.ms': 0, // our pusher batches
    'queue.buffering.max.messages': 0,
    'queue.buffering.max.kbytes': MAX_KILOBYTES,
    dr_cb: true,
    ...(transactionalId === undefined
      ? {}
      : { 'transactional.id': transactionalId, 'transaction.timeout.ms': TRANSACTION_TIMEOUT_MS }),
  };
}

/** Refresh interval for missing topics; librdkafka's default is five minutes. */
const TOPICS_EVERY_MS = 5_000;

export function memberConfig(
  settings: ClientSettings,
  {
    group,
    sessionTimeout = SESSION_TIMEOUT,
    rebalanceTimeout = REBALANCE_TIMEOUT,
    groupInstanceId,
    heartbeatInterval = Math.min(sessionTimeout, rebalanceTimeout) / 10,
  }: Omit<MemberOptions, 'topics'>,
): Config {
  return {
    ...adminConfig(settings),
    'group.id': group,
    'session.timeout.ms': sessionTimeout,
    'heartbeat.interval.ms': Math.round(heartbeatInterval),
    'max.poll.interval.ms': Math.max(rebalanceTimeout, sessionTimeout), // reported to the group; must be at least the session timeout
    'partition.assignment.strategy': 'roundrobin',
    ...(groupInstanceId === undefined ? {} : { 'group.instance.id': groupInstanceId }),
    'enable.auto.commit': false,
    'enable.auto.offset.store': false,
    'allow.auto.create.topics': false,
    'topic.metadata.refresh.interval.ms': TOPICS_EVERY_MS,
    ...(settings.rack === undefined ? {} : { 'client.rack': settings.rack }),
    'isolation.level': 'read_committed',
    'enable.partition.eof': true,
    'fetch.wait.max.ms': MAX_WAIT_MS,
    'queued.min.messages': FETCHED.messages,
    'queued.max.messages.kbytes': FETCHED.kilobytes,
    'fetch.max.bytes': FETCHED.kilobytes * 1_024,
    'fetch.queue.backoff.ms': FETCH_PAUSE_MS,
  };
}

/** Where it starts if nothing is committed. */
export const MEMBER_TOPICS: Config = { 'auto.offset.reset': 'earliest' };

/** Returns the settings of a consumer that never joins its group. */
export function outsiderConfig(settings: ClientSettings, group: string): Config {
  return {
    ...adminConfig(settings),
    'group.id': group,
    'enable.auto.commit': false,
    'enable.auto.offset.store': false,
    'isolation.level': 'read_committed',
    'enable.partition.eof': true,
    'fetch.wait.max.ms': MAX_WAIT_MS,
  };
}

const TLS = ['ca', 'cert', 'key', 'passphrase', 'rejectUnauthorized'];

/** Translates TLS options. `KQ_CONFIG` for options without an equivalent: ignoring one could make the connection unsafe. */
function tls(options: ConnectionOptions): Config {
  const other = Object.keys(options).find((name) => !TLS.includes(name));
  if (other !== undefined)
    throw new KqError(
      'KQ_CONFIG',
      `\`ssl\` has ${show(other)}, which Confluent's client does not support: expected only ${TLS.join(', ')}`,
    );
  const { ca, cert, key, passphrase, rejectUnauthorized } = options;
  const config: Config = {
    'ssl.ca.pem': pem('ca', ca),
    'ssl.certificate.pem': pem('cert', cert),
    'ssl.key.pem': pem('key', key),
    'ssl.key.password': passphrase,
    'enable.ssl.certificate.verification': rejectUnauthorized ?? true,
  };
  return Object.fromEntries(Object.entries(config).filter(([, value]) => value !== undefined));
}

function pem(name: string, given: unknown): string | undefined {
  if (given === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  return list
    .map((each) => {
      if (typeof each === 'string' || Buffer.isBuffer(each)) return String(each);
      throw wrongValue('KQ_CONFIG', `\`ssl.${name}\``, each, 'PEM as a string or Buffer, or a list of them');
    })
    .join('\n');
}
