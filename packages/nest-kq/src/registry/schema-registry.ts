/**
 * Topic formats backed by a schema registry: Avro and Protobuf in the wire format of Confluent's serializers.
 * @module nest-kq/registry
 */
import type { ValueFormat } from '../api/format.js';
import { wrongValue } from '../errors.js';
import { AvroFormat, type AvroOptions } from './avro-format.js';
import { ProtobufFormat, type ProtobufOptions } from './protobuf-format.js';
import { RegistryClient } from './registry-client.js';
import { resolveRegistryOptions, type RegistryOptions } from './registry-options.js';

export type { AvroOptions, ProtobufOptions, RegistryOptions };
export type { SchemaReference } from './registry-client.js';
export type { SubjectOptions } from './writers.js';

/**
 * A schema registry with Confluent's REST API. It is only asked when a message needs a schema that isn't cached.
 * `const registry = new SchemaRegistry({ url: 'https://registry:8081' });`
 */
export class SchemaRegistry {
  private readonly client: () => RegistryClient;

  /**
   * Creates a registry. `KQ_CONFIG`: an option is wrong.
   * @param options Options, or a function that returns them, called when the first message needs a schema: for a configuration
   * loaded after the files that define topics.
   */
  constructor(options: RegistryOptions | (() => RegistryOptions)) {
    let client: RegistryClient | undefined;
    if (typeof options === 'function') {
      this.client = () => (client ??= new RegistryClient(resolveRegistryOptions(options())));
    } else {
      client = new RegistryClient(resolveRegistryOptions(options));
      this.client = () => client!;
    }
  }

  /**
   * Returns a format for Avro, using the package `avsc`, which you install.
   * `defineTopic('orders', { format: registry.avro<Order>() })`.
   * `KQ_CONFIG`: the package is missing. `KQ_BAD_OPTION`: an option is wrong.
   */
  avro<T = any>(options: AvroOptions = {}): ValueFormat<T, T> {
    checkObject('avro', options);
    return new AvroFormat(this.client, options);
  }

  /**
   * Returns a format for Protobuf, using the package `protobufjs`, which you install. Field names are in camel case; 64-bit
   * integers are strings (a push also takes safe numbers), enums are names, bytes are Buffers, and an absent message is null.
   * `KQ_CONFIG`: the package is missing. `KQ_BAD_OPTION`: an option is wrong.
   */
  protobuf<T = any>(options: ProtobufOptions = {}): ValueFormat<T, T> {
    checkObject('protobuf', options);
    return new ProtobufFormat(this.client, options);
  }
}

function checkObject(what: string, options: unknown): void {
  if (typeof options !== 'object' || options === null)
    throw wrongValue(
      'KQ_BAD_OPTION',
      `the argument of registry.${what}`,
      options,
      'an options object or nothing',
    );
}
