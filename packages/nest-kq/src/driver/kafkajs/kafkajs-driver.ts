/** Kafka's brokers by kafkajs, the default driver. */
import { KqError } from '../../errors.js';
import type {
  LogAdmin,
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
  MemberOptions,
  ProducerOptions,
} from '../driver.js';
import { KafkajsAdmin } from './kafkajs-admin.js';
import { KafkajsClient } from './kafkajs-client.js';
import { KafkajsCluster } from './kafkajs-cluster.js';
import { KafkajsMember } from './kafkajs-member.js';
import { type KafkajsOptions, resolveKafkajsOptions } from './kafkajs-options.js';
import { KafkajsProducer } from './kafkajs-producer.js';
import { Membership } from './membership.js';
import { Topics } from './topics.js';

export class KafkajsDriver implements LogDriver {
  readonly admin: LogAdmin;
  private readonly client: KafkajsClient;
  private readonly cluster: KafkajsCluster;
  private readonly topics: Topics;
  private readonly opened = new Set<() => Promise<void>>();
  private closing: Promise<void> | undefined;

  constructor(options: KafkajsOptions) {
    this.client = new KafkajsClient(resolveKafkajsOptions(options));
    this.cluster = new KafkajsCluster(this.client);
    this.topics = new Topics(this.client, this.cluster);
    this.admin = new KafkajsAdmin(this.client, this.cluster);
  }

  producer(options: ProducerOptions = {}): LogProducer {
    this.check();
    const producer = new KafkajsProducer(
      { client: this.client, cluster: this.cluster, topics: this.topics },
      options,
    );
    this.opened.add(() => producer.close());
    return producer;
  }

  member(options: MemberOptions, handler: MemberHandler): LogMember {
    this.check();
    const member = new KafkajsMember(
      { client: this.client, cluster: this.cluster },
      options,
      handler,
      Membership,
    );
    this.opened.add(() => member.stop());
    return member;
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all([...this.opened].map((end) => end()));
    await this.cluster.close();
  }

  private check(): void {
    if (this.closing) throw new KqError('KQ_CLOSED', 'the client is closed');
  }
}
