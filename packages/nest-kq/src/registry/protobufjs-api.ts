/** The part of protobufjs we use: its own types exist only where it is installed. */
export interface Protobufjs {
  readonly Root: new () => Namespace & { resolveAll(): unknown };
  readonly Type: new (...given: never[]) => MessageType;
  readonly common: { get(path: string): { nested: object } | null };
  parse(text: string, root: Namespace): { package?: string; imports?: string[]; weakImports?: string[] };
}

export interface Namespace {
  readonly nestedArray: readonly unknown[];
  lookup(path: string): Namespace | null;
  lookupType(path: string): MessageType;
  addJSON(nested: object): unknown;
}

/** A message type of protobufjs. */
export interface MessageType extends Namespace {
  readonly name: string;
  readonly fullName: string;
  readonly fields: Readonly<Record<string, MessageField>>;
  fromObject(value: unknown): unknown;
  toObject(message: unknown, options: object): unknown;
  encode(message: unknown): { finish(): Uint8Array };
  decode(bytes: Uint8Array): unknown;
}

export interface MessageField {
  readonly type: string;
  readonly repeated: boolean;
  readonly map: boolean;
  /** Key type of a map. */
  readonly keyType?: string;
  readonly required: boolean;
  /** A message type has `fields`, an enum `values`. */
  readonly resolvedType: MessageType | { readonly values: Readonly<Record<string, number>> } | null;
}
