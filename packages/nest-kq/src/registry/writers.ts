/** Schemas for writing topics. */
import { checkOptions } from '../api/checks.js';
import { wrongValue } from '../errors.js';
import { RecentCache } from './recent-cache.js';
import {
  expectType,
  type LoadedSchema,
  type RegistryClient,
  type SchemaReference,
  type SchemaType,
} from './registry-client.js';

/** Registration options of the values' schema. */
export interface SubjectOptions {
  /** Subject of a topic's values, or a function of the topic's name. @default the topic's name and `-value` */
  subject?: string | ((topic: string) => string);
  /** Adds `schema` to the subject at the first push, if new. @default false: it must be registered already */
  register?: boolean;
  /** Registered schemas that `schema` refers to. @default none */
  references?: readonly SchemaReference[];
}

interface WriterOptions extends SubjectOptions {
  readonly type: SchemaType;
  /** Undefined for the newest of the subject. */
  readonly schema: string | undefined;
}

const SUBJECT: readonly string[] = [
  'subject',
  'register',
  'references',
] satisfies readonly (keyof SubjectOptions)[];
/** Max topics of one format. */
const MAX_TOPICS = 1_000;

/** Checks the options; throws `KQ_BAD_OPTION`. `own`: names of the other options. */
export function checkSubjectOptions(
  whose: string,
  options: SubjectOptions & { schema?: unknown },
  own: readonly string[],
): void {
  checkOptions('KQ_BAD_OPTION', whose, options, [...own, ...SUBJECT]);
  const { subject, register = false, references = [], schema } = options;
  const check = (name: string, value: unknown, right: boolean, expected: string) => {
    if (!right) throw wrongValue('KQ_BAD_OPTION', `\`${name}\` of ${whose}`, value, expected);
  };
  const named = typeof subject === 'string' ? subject !== '' : typeof subject === 'function';
  check('subject', subject, subject === undefined || named, 'a name, or a function that returns one');
  check('register', register, typeof register === 'boolean', 'true or false');
  check('references', references, Array.isArray(references), 'a list of { name, subject, version }');
  const needed = register || references.length > 0;
  check(
    'schema',
    schema,
    schema !== undefined || !needed,
    'a schema, which `register` and `references` require',
  );
}

/** Writers of topics' values; each is looked up once. */
export class Writers<Writer> {
  private readonly byTopic = new RecentCache<string, Writer>(MAX_TOPICS);

  constructor(
    private readonly client: () => RegistryClient,
    private readonly options: WriterOptions,
    private readonly make: (id: number, schema: LoadedSchema) => Writer,
  ) {}

  /** Returns the topic's writer. Rejects with `KQ_REGISTRY`, or with what `make` throws. */
  of(topic: string): Writer | Promise<Writer> {
    return this.byTopic.get(topic, () => this.load(topic));
  }

  private async load(topic: string): Promise<Writer> {
    const { subject = `${topic}-value`, schema, references = [], type, register = false } = this.options;
    const name = typeof subject === 'function' ? subject(topic) : subject;
    const client = this.client();
    if (schema === undefined) {
      const { id, ...loaded } = await client.latest(name);
      return this.make(id, expectType(type, id, loaded));
    }
    const text = { schema, schemaType: type, references };
    const id = await client.idOf(name, text, register);
    return this.make(id, await client.load(text));
  }
}
