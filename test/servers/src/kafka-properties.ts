// The properties of a broker. It has one listener for clients, one for other brokers, and one as a controller.
import type { Certificate } from './certificate.js';

export interface KafkaUser {
  /** Letters, digits, `_` and `-`; the same for the password. */
  readonly username: string;
  readonly password: string;
}

export interface KafkaOptions {
  /** Whether a topic is made when a client first asks for it. @default true */
  autoCreateTopics?: boolean;
  /** The largest batch of messages in bytes, as it is sent, so after compression. @default 1048588 */
  maxMessageBytes?: number;
  /** Clients must log in as one of these, by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512. @default none: nobody logs in */
  users?: readonly KafkaUser[];
  /** Clients must log in by SASL/OAUTHBEARER, with a token that nobody has signed: see `unsignedToken`. @default false */
  tokens?: boolean;
  /** Whether clients use TLS. They have to trust `ca` of the server. @default false */
  tls?: boolean;
  /** Address for clients, as `host:port`, such as that of a proxy; for a single broker only. @default the broker itself */
  advertised?: string;
  /** More properties of the broker, such as `{ 'log.retention.ms': '1000' }`. @default none */
  properties?: Readonly<Record<string, string>>;
}

/** How the listener of the clients is called in the properties. */
const CLIENTS = 'CLIENTS';
const OTHERS_ABOVE = 10_001;
const CONTROLLER_ABOVE = 10_000;

export interface Broker {
  readonly nodeId: number;
  readonly host: string;
  /** Port for clients. The owner of this port has those below, too. */
  readonly port: number;
}

/** The port for other brokers, without TLS and without users. */
export const portForOthers = ({ port }: Broker): number => port + OTHERS_ABOVE;

/** The text of the file `server.properties`. */
export function brokerProperties(
  broker: Broker,
  all: readonly Broker[],
  data: string,
  options: KafkaOptions,
  certificate: Certificate | undefined,
): string {
  const { host, port, nodeId } = broker;
  const { autoCreateTopics = true, maxMessageBytes, users, tokens = false, advertised } = options;
  const { properties = {} } = options;
  const controller = (of: Broker) => `${of.host}:${of.port + CONTROLLER_ABOVE}`;
  const listeners = (clients: string) => `${CLIENTS}://${clients},OTHERS://${host}:${portForOthers(broker)}`;
  const own = `${host}:${port}`;
  const replicas = all.length;
  const protocol = `${users || tokens ? 'SASL_' : ''}${certificate ? 'SSL' : 'PLAINTEXT'}`;
  return text({
    'process.roles': 'broker,controller',
    'node.id': nodeId,
    'broker.rack': `rack-${nodeId}`,
    'controller.quorum.voters': all.map((of) => `${of.nodeId}@${controller(of)}`).join(','),
    listeners: `${listeners(own)},CONTROLLER://${controller(broker)}`,
    'advertised.listeners': listeners(advertised ?? own),
    'listener.security.protocol.map': `${CLIENTS}:${protocol},OTHERS:PLAINTEXT,CONTROLLER:PLAINTEXT`,
    'inter.broker.listener.name': 'OTHERS',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': data,
    ...(users ? usersOf(users) : {}),
    ...(tokens ? bearers() : {}),
    ...(certificate ? tlsWith(certificate) : {}),
    'auto.create.topics.enable': autoCreateTopics,
    ...(maxMessageBytes === undefined ? {} : { 'message.max.bytes': maxMessageBytes }),
    ...copies(replicas),
    ...QUICK,
    ...SMALL,
    ...properties,
  });
}

/** `copies` of each message, and a write to all but one of them is enough. */
function copies(replicas: number): Record<string, number> {
  const enough = Math.max(1, replicas - 1);
  return {
    'num.partitions': 4,
    'default.replication.factor': replicas,
    'min.insync.replicas': enough,
    'offsets.topic.replication.factor': replicas,
    'offsets.topic.num.partitions': 4,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': enough,
    'transaction.state.log.num.partitions': 4,
    'share.coordinator.state.topic.replication.factor': replicas,
    'share.coordinator.state.topic.min.isr': enough,
    'share.coordinator.state.topic.num.partitions': 4,
  };
}

/** So that a dead broker or consumer is found soon, and nobody waits for more members of a group. */
const QUICK = {
  'broker.heartbeat.interval.ms': 300,
  'broker.session.timeout.ms': 1_500,
  'controller.quorum.election.timeout.ms': 500,
  'controller.quorum.fetch.timeout.ms': 1_000,
  'group.initial.rebalance.delay.ms': 0,
  'group.min.session.timeout.ms': 1_000,
  'group.consumer.min.session.timeout.ms': 1_000,
  'group.consumer.min.heartbeat.interval.ms': 300,
};

/** For a machine that runs several at once. */
const SMALL = {
  'num.network.threads': 2,
  'num.io.threads': 4,
  'background.threads': 2,
  'log.cleaner.dedupe.buffer.size': 4_194_304,
};

function usersOf(users: NonNullable<KafkaOptions['users']>): Record<string, string> {
  const plain = users.map(({ username, password }) => `user_${username}="${password}"`).join(' ');
  const modules = 'org.apache.kafka.common.security';
  const ofClients = `listener.name.${CLIENTS.toLowerCase()}`;
  const scram = `${modules}.scram.ScramLoginModule required;`;
  return {
    [`${ofClients}.sasl.enabled.mechanisms`]: 'PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    [`${ofClients}.plain.sasl.jaas.config`]: `${modules}.plain.PlainLoginModule required ${plain};`,
    [`${ofClients}.scram-sha-256.sasl.jaas.config`]: scram,
    [`${ofClients}.scram-sha-512.sasl.jaas.config`]: scram,
  };
}

/** Kafka's own default takes tokens without a signature. */
function bearers(): Record<string, string> {
  const ofClients = `listener.name.${CLIENTS.toLowerCase()}`;
  const module = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule';
  return {
    [`${ofClients}.sasl.enabled.mechanisms`]: 'OAUTHBEARER',
    [`${ofClients}.oauthbearer.sasl.jaas.config`]: `${module} required unsecuredLoginStringClaim_sub="broker";`,
  };
}

/** A JSON web token of this user without a signature, valid from now on for `lifetime` ms. */
export function unsignedToken(user: string, lifetime: number): string {
  const seconds = Math.floor(Date.now() / 1_000);
  const claims = { sub: user, iat: seconds, exp: seconds + Math.ceil(lifetime / 1_000) };
  const parts = [{ alg: 'none' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  return `${parts.join('.')}.`;
}

function tlsWith({ key, certificate }: Certificate): Record<string, string> {
  const ofClients = `listener.name.${CLIENTS.toLowerCase()}`;
  return {
    [`${ofClients}.ssl.keystore.type`]: 'PEM',
    [`${ofClients}.ssl.keystore.key`]: key,
    [`${ofClients}.ssl.keystore.certificate.chain`]: certificate,
  };
}

function text(properties: Record<string, string | number | boolean>): string {
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${String(value).replaceAll('\n', '\\n')}\n`)
    .join('');
}
