/** Protobuf by the package protobufjs. */
import type { ValueFormat } from '../api/format.js';
import { KqError, show, toError, wrongValue } from '../errors.js';
import { loadPeer } from './peers.js';
import { checkMessage } from './protobuf-check.js';
import type { MessageType, Namespace, Protobufjs } from './protobufjs-api.js';
import { RecentCache } from './recent-cache.js';
import { expectType, type LoadedSchema, type RegistryClient } from './registry-client.js';
import { decodeIndexes, encodeIndexes, frame, unframe } from './wire.js';
import { checkSubjectOptions, Writers, type SubjectOptions } from './writers.js';

/** Options of `registry.protobuf`. */
export interface ProtobufOptions extends SubjectOptions {
  /** Content of the `.proto` file for pushed values. @default the newest of the subject, looked up once */
  schema?: string;
  /** Message type to push, with or without its package, such as `Order.Line`. @default the first of the file */
  message?: string;
}

/** A file with its message types. */
interface ProtoFile {
  /** Returns the type at these indexes, counted from the top level of the file. */
  typeAt(indexes: readonly number[]): MessageType | undefined;
  /** Finds a type by name, with or without the package; the first of the file if there is no name. */
  find(
    name: string | undefined,
  ): { readonly type: MessageType; readonly indexes: readonly number[] } | undefined;
}

type Write = (value: unknown) => Buffer;

const OWN: readonly string[] = ['schema', 'message'];
const MAX_READERS = 1_000;

export class ProtobufFormat implements ValueFormat {
  /** The name for error messages. */
  readonly name = 'protobuf';
  private readonly protobufjs: Protobufjs;
  private readonly writers: Writers<Write>;
  private readonly readers = new RecentCache<number, ProtoFile>(MAX_READERS);

  constructor(
    private readonly client: () => RegistryClient,
    private readonly options: ProtobufOptions,
  ) {
    checkSubjectOptions('registry.protobuf', options, OWN);
    for (const name of ['schema', 'message'] as const)
      if (options[name] !== undefined && (typeof options[name] !== 'string' || options[name] === ''))
        throw wrongValue(
          'KQ_BAD_OPTION',
          `\`${name}\` of registry.protobuf`,
          options[name],
          'a non-empty string',
        );
    this.protobufjs = loadPeer('protobufjs', 'Protobuf') as Protobufjs;
    const { schema, message } = options;
    this.checkSchema();
    this.writers = new Writers(client, { ...options, schema, type: 'PROTOBUF' }, (id, loaded) => {
      const found = this.fileOf(loaded).find(message);
      if (!found)
        throw new KqError('KQ_BAD_MESSAGE', `schema ${id} has no message type ${message ?? 'at all'}`);
      const { type, indexes } = found;
      const head = encodeIndexes(indexes);
      return (value) => {
        checkMessage(type, value, 'the value');
        return frame(id, head, type.encode(type.fromObject(value)).finish());
      };
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
    const { indexes, rest } = decodeIndexes(body);
    const file = this.readers.get(id, () => this.readerOf(id));
    const read = (ready: ProtoFile) => valueOf(ready, indexes, rest, id);
    return file instanceof Promise ? file.then(read) : read(file);
  }

  private async readerOf(id: number): Promise<ProtoFile> {
    return this.fileOf(expectType('PROTOBUF', id, await this.client().schema(id)));
  }

  private fileOf(loaded: LoadedSchema): ProtoFile {
    const { Root, Type } = this.protobufjs;
    const root = new Root();
    const { package: name } = this.parse(loaded, root, new Set());
    root.resolveAll();
    // Parsed alone, since other files may have types in the same package.
    const alone = new Root();
    this.protobufjs.parse(loaded.schema, alone);
    const top = (name === undefined ? alone : alone.lookup(name)) ?? alone;
    const typesOf = (of: Namespace) => of.nestedArray.filter((each) => each instanceof Type);
    const resolved = (type: MessageType) => root.lookupType(type.fullName);
    return {
      typeAt(indexes) {
        let found: MessageType | undefined;
        for (const index of indexes) {
          found = typesOf(found ?? top)[index];
          if (!found) return undefined;
        }
        return found && resolved(found);
      },
      find(wanted) {
        const search = (of: Namespace, indexes: readonly number[]): ReturnType<ProtoFile['find']> => {
          for (const [index, type] of typesOf(of).entries()) {
            const here = [...indexes, index];
            const full = type.fullName.slice(1);
            const names = [full, name === undefined ? full : full.slice(name.length + 1)];
            if (wanted === undefined || names.includes(wanted))
              return { type: resolved(type), indexes: here };
            const inner = search(type, here);
            if (inner) return inner;
          }
          return undefined;
        };
        return search(top, []);
      },
    };
  }

  /** Parses a schema into `root` with its imports: from its references, or those of Google that protobufjs includes. */
  private parse(loaded: LoadedSchema, root: Namespace, known: Set<string>): { package?: string } {
    const parsed = this.protobufjs.parse(loaded.schema, root);
    for (const path of [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])]) {
      if (known.has(path)) continue;
      known.add(path);
      const own = loaded.references.find(({ name }) => name === path);
      const common = this.protobufjs.common.get(path);
      if (own) this.parse(own.loaded, root, known);
      else if (common) root.addJSON(common.nested);
      // Others, such as confluent/meta.proto, declare options only; resolveAll reports a missing type.
    }
    return parsed;
  }

  private checkSchema(): void {
    const { schema, references = [] } = this.options;
    if (schema === undefined) return;
    try {
      if (references.length === 0) this.fileOf({ type: 'PROTOBUF', schema, references: [] });
    } catch (thrown) {
      const cause = toError(thrown);
      throw new KqError('KQ_BAD_OPTION', `\`schema\` of registry.protobuf: ${cause.message}`, { cause });
    }
  }
}

const AS_OBJECT = { longs: String, enums: String, defaults: true };

function valueOf(file: ProtoFile, indexes: readonly number[], bytes: Buffer, id: number): any {
  const type = file.typeAt(indexes);
  if (type) return type.toObject(type.decode(bytes), AS_OBJECT);
  throw new KqError('KQ_BAD_MESSAGE', `schema ${id} has no message type at indexes ${show(indexes)}`);
}
