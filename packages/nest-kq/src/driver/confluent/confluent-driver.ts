/** Driver for Kafka brokers by Confluent's client. */
import { KqError, show } from '../../errors.js';
import { BrokerClient } from '../broker-client.js';
import { BrokerDriver } from '../broker-driver.js';
import { type ClientOptions, type DriverFactory, resolveClientOptions } from '../client-options.js';
import type { LogProducer, ProducerOptions } from '../driver.js';
import type { MakeStay } from '../group-member.js';
import type { ConfluentModule } from './confluent-api.js';
import { ConfluentCluster } from './confluent-cluster.js';
import { adminConfig } from './confluent-config.js';
import { ConfluentMembership } from './confluent-membership.js';
import { ConfluentProducer } from './confluent-producer.js';

/**
 * Returns a `driver` for `KqModule` that uses the package `@confluentinc/kafka-javascript`, which you install and import.
 * `KQ_CONFIG`: `module` is something else.
 */
export function confluent(module: unknown): DriverFactory {
  const given = withDefault(module);
  const { Producer, KafkaConsumer, AdminClient } = given;
  if (typeof Producer !== 'function' || typeof KafkaConsumer !== 'function' || !AdminClient)
    throw new KqError(
      'KQ_CONFIG',
      `confluent(…) got ${show(module)}: expected the exports of @confluentinc/kafka-javascript`,
    );
  return (options) => new ConfluentDriver(given as ConfluentModule, options);
}

/** `import * as` provides a CommonJS module as `default`. */
function withDefault(module: unknown): Partial<ConfluentModule> {
  if (typeof module !== 'object' || module === null) return {};
  if ('default' in module && typeof module.default === 'object' && module.default !== null)
    return module.default;
  return module;
}

class ConfluentDriver extends BrokerDriver<BrokerClient> {
  constructor(
    private readonly module: ConfluentModule,
    options: ClientOptions,
  ) {
    const client = new BrokerClient(resolveClientOptions(options));
    adminConfig(client.settings); // throws if `ssl` can't be translated
    super(client, new ConfluentCluster(client, module));
  }

  protected makeProducer(options: ProducerOptions): LogProducer {
    return new ConfluentProducer({ ...this.context, module: this.module }, options);
  }

  protected readonly makeStay: MakeStay = (...stay) =>
    new ConfluentMembership({ ...this.context, module: this.module }, ...stay);
}
