/** Driver for Kafka brokers by kafkajs, the default. */
import { wrongValue } from '../../errors.js';
import { BrokerDriver } from '../broker-driver.js';
import { type ClientOptions, resolveClientOptions } from '../client-options.js';
import type { LogProducer, ProducerOptions } from '../driver.js';
import type { MakeStay } from '../group-member.js';
import { KafkajsClient } from './kafkajs-client.js';
import { KafkajsCluster } from './kafkajs-cluster.js';
import { KafkajsProducer } from './kafkajs-producer.js';
import { Membership } from './membership.js';

export class KafkajsDriver extends BrokerDriver<KafkajsClient> {
  constructor(options: ClientOptions) {
    if (options.rack !== undefined)
      throw wrongValue(
        'KQ_CONFIG',
        '`rack`',
        options.rack,
        'none, or the driver confluent(…), since kafkajs does not support it',
      );
    const client = new KafkajsClient(resolveClientOptions(options));
    super(client, new KafkajsCluster(client));
  }

  protected makeProducer(options: ProducerOptions): LogProducer {
    return new KafkajsProducer(this.context, options);
  }

  protected readonly makeStay: MakeStay = (...stay) => new Membership(this.context, ...stay);
}
