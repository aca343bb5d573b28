/** Avro by the package avsc. */
import type { ValueFormat } from '../api/format.js';
import { KqError, show, toError, wrongValue } from '../errors.js';
import { loadPeer } from './peers.js';
import { RecentCache } from './recent-cache.js';
import { expectType, type LoadedSchema, type RegistryClient } from './registry-client.js';
import { frame, unframe } from './wire.js';
import { checkSubjectOptions, Writers, type SubjectOptions } from './writers.js';

/** Options of `registry.avro`. */
export interface AvroOptions extends SubjectOptions {
  /**
   * Schema of the values, as an object or as JSON. Values read are resolved to it: fields unknown to their writer get their
   * defaults. @default pushes: the newest of the subject, looked up once; reads: the schema of the message
   */
  schema?: string | object;
  /** Options of avsc's `Type.forSchema`, such as `logicalTypes`. @default none */
  avsc?: object;
}

/** The part of avsc we use: its own types exist only where it is installed. */
interface Avsc {
  readonly Type: { forSchema(schema: unknown, options: object): AvroType };
}

interface AvroType {
  fromBuffer(bytes: Buffer, resolver?: unknown): unknown;
  toBuffer(value: unknown): Buffer;
  createResolver(written: AvroType): unknown;
  isValid(value: unknown, options: { errorHook(path: readonly string[], value: unknown): void }): boolean;
}

type Read = (body: Buffer) => any;
type Write = (value: unknown) => Buffer;

const OWN: readonly string[] = ['schema', 'avsc'];
const MAX_READERS = 1_000;

export class AvroFormat implements ValueFormat {
  /** The name for error messages. */
  readonly name = 'avro';
  private readonly avsc: Avsc;
  private readonly schema: string | undefined;
  private readonly writers: Writers<Write>;
  private readonly readers = new RecentCache<number, Read>(MAX_READERS);

  constructor(
    private readonly client: () => RegistryClient,
    private readonly options: AvroOptions,
  ) {
    checkSubjectOptions('registry.avro', options, OWN);
    const { schema, avsc = {} } = options;
    if (typeof avsc !== 'object' || avsc === null)
      throw wrongValue('KQ_BAD_OPTION', '`avsc` of registry.avro', avsc, "options of avsc's Type.forSchema");
    this.avsc = loadPeer('avsc', 'Avro') as Avsc;
    this.schema = schema === undefined ? undefined : this.checked(schema);
    const written = { ...options, schema: this.schema, type: 'AVRO' } as const;
    this.writers = new Writers(client, written, (id, loaded) => {
      const type = this.typeOf(loaded);
      return (value) => frame(id, bytesOf(type, value));
    });
  }

  /** Returns the bytes to store. */
  encode(value: unknown, topic: string): Buffer | Promise<Buffer> {
    const write = this.writers.of(topic);
    return write instanceof Promise ? write.then((ready) => ready(value)) : write(value);
  }

  /** Returns the value of stored bytes. */
  decode(stored: Buffer): any {
    const { id, body } = unframe(stored);
    const read = this.readers.get(id, () => this.readerOf(id));
    return read instanceof Promise ? read.then((ready) => ready(body)) : read(body);
  }

  private async readerOf(id: number): Promise<Read> {
    const written = this.typeOf(expectType('AVRO', id, await this.client().schema(id)));
    const { schema, options } = this;
    if (schema === undefined) return (body) => written.fromBuffer(body);
    const own = this.typeOf(await this.client().load({ ...options, schema, schemaType: 'AVRO' }));
    const resolver = own.createResolver(written);
    return (body) => own.fromBuffer(body, resolver);
  }

  /** Returns the type, including the types it refers to, by name. */
  private typeOf({ schema, references }: LoadedSchema, registry: object = {}): AvroType {
    for (const { loaded } of references) this.typeOf(loaded, registry);
    const options = { omitRecordMethods: true, ...this.options.avsc, registry };
    return this.avsc.Type.forSchema(JSON.parse(schema), options);
  }

  /** Returns the schema as JSON. */
  private checked(schema: unknown): string {
    try {
      const text = typeof schema === 'string' ? schema : JSON.stringify(schema);
      const { references = [] } = this.options;
      if (references.length === 0) this.typeOf({ type: 'AVRO', schema: text, references: [] });
      return text;
    } catch (thrown) {
      const cause = toError(thrown);
      throw new KqError('KQ_BAD_OPTION', `\`schema\` of registry.avro: ${cause.message}`, { cause });
    }
  }
}

/** Encodes a value; throws a `KQ_BAD_MESSAGE` that says where it is wrong. */
function bytesOf(type: AvroType, value: unknown): Buffer {
  try {
    return type.toBuffer(value);
  } catch (cause) {
    let place: string | undefined;
    let wrong: unknown;
    type.isValid(value, {
      errorHook: (path, found) => {
        place ??= path.map((name) => `.${name}`).join('');
        wrong ??= found;
      },
    });
    const fact = place === undefined ? toError(cause).message : `the value${place} is ${show(wrong)}`;
    throw new KqError('KQ_BAD_MESSAGE', `${fact}: expected a value of its Avro schema`, { cause });
  }
}
