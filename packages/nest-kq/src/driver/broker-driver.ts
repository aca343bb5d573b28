/** Common parts of the drivers for Kafka brokers. */
import { KqError } from '../errors.js';
import type { BrokerClient } from './broker-client.js';
import type { Cluster } from './cluster.js';
import type {
  LogDriver,
  LogMember,
  LogProducer,
  MemberHandler,
  MemberOptions,
  ProducerOptions,
} from './driver.js';
import { GroupMember, type MakeStay } from './group-member.js';
import { TopicLeaders } from './topic-leaders.js';

/** Shared by the producers of one driver. */
export interface ProducerContext<Client extends BrokerClient = BrokerClient> {
  readonly client: Client;
  readonly cluster: Cluster;
  readonly topics: TopicLeaders;
}

export abstract class BrokerDriver<Client extends BrokerClient> implements LogDriver {
  protected readonly context: ProducerContext<Client>;
  private readonly opened = new Set<() => Promise<void>>();
  private closing: Promise<void> | undefined;

  constructor(
    client: Client,
    readonly admin: Cluster,
  ) {
    this.context = { client, cluster: admin, topics: new TopicLeaders(client, admin) };
  }

  protected abstract makeProducer(options: ProducerOptions): LogProducer;
  protected abstract readonly makeStay: MakeStay;

  producer(options: ProducerOptions = {}): LogProducer {
    this.check();
    const producer = this.makeProducer(options);
    this.opened.add(() => producer.close());
    return producer;
  }

  member(options: MemberOptions, handler: MemberHandler): LogMember {
    this.check();
    const member = new GroupMember(this.context.client, this.admin, options, handler, this.makeStay);
    this.opened.add(() => member.stop());
    return member;
  }

  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    await Promise.all([...this.opened].map((end) => end()));
    await this.admin.close();
  }

  private check(): void {
    if (this.closing) throw new KqError('KQ_CLOSED', 'the client is closed');
  }
}
