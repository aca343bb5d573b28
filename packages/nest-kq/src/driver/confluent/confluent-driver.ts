/** Kafka's brokers by Confluent's client. Its metadata and its administration are those of kafkajs. */
import { KqError, show } from '../../errors.js';
import type {
  LogAdmin,
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
  MemberOptions,
  ProducerOptions,
} from '../driver.js';
import { KafkajsAdmin } from '../kafkajs/kafkajs-admin.js';
import { KafkajsClient } from '../kafkajs/kafkajs-client.js';
import { KafkajsCluster } from '../kafkajs/kafkajs-cluster.js';
import { KafkajsMember } from '../kafkajs/kafkajs-member.js';
import {
  type DriverFactory,
  type KafkajsOptions,
  resolveKafkajsOptions,
} from '../kafkajs/kafkajs-options.js';
import { Topics } from '../kafkajs/topics.js';
import type { ConfluentContext, ConfluentModule } from './confluent-api.js';
import { groupConfig } from './confluent-config.js';
import { ConfluentMembership } from './confluent-membership.js';
import { ConfluentProducer } from './confluent-producer.js';

/**
 * A `driver` of `KqModule`: messages go and come by the package `@confluentinc/kafka-javascript`, which you install and
 * import. `KQ_CONFIG` if it is given something else.
 */
export function confluent(module: unknown): DriverFactory {
  const given = withDefault(module);
  if (typeof given.Producer !== 'function' || typeof given.KafkaConsumer !== 'function')
    throw new KqError(
      'KQ_CONFIG',
      `confluent was given ${show(module)}: expected what @confluentinc/kafka-javascript exports`,
    );
  return (options) => new ConfluentDriver(given as ConfluentModule, options);
}

/** `import * as` gives a module of CommonJS as `default`. */
function withDefault(module: unknown): Partial<ConfluentModule> {
  if (typeof module !== 'object' || module === null) return {};
  if ('default' in module && typeof module.default === 'object' && module.default !== null)
    return module.default;
  return module;
}

export class ConfluentDriver implements LogDriver {
  readonly admin: LogAdmin;
  private readonly context: ConfluentContext;
  private readonly opened = new Set<() => Promise<void>>();
  private closing: Promise<void> | undefined;

  constructor(module: ConfluentModule, options: KafkajsOptions) {
    const client = new KafkajsClient(resolveKafkajsOptions(options));
    const cluster = new KafkajsCluster(client);
    this.context = { client, cluster, topics: new Topics(client, cluster), module };
    this.admin = new KafkajsAdmin(client, cluster);
    groupConfig(client.settings, ''); // throws where it cannot be told what `ssl` asks for
  }

  producer(options: ProducerOptions = {}): LogProducer {
    this.check();
    const producer = new ConfluentProducer(this.context, options);
    this.opened.add(() => producer.close());
    return producer;
  }

  member(options: MemberOptions, handler: MemberHandler): LogMember {
    this.check();
    const member = new KafkajsMember(this.context, options, handler, ConfluentMembership);
    this.opened.add(() => member.stop());
    return member;
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all([...this.opened].map((end) => end()));
    await this.context.cluster.close();
  }

  private check(): void {
    if (this.closing) throw new KqError('KQ_CLOSED', 'the client is closed');
  }
}
