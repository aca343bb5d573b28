/** The REST API of a schema registry: Confluent's, and whatever speaks as it does. */
import { KqError, show, toError } from '../errors.js';
import type { RegistrySettings } from './registry-options.js';
import { RecentCache } from './recent-cache.js';

export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON';

/** Another schema that a schema names. */
export interface SchemaReference {
  /** As the schema names it: a type of Avro, or the path of an import. */
  readonly name: string;
  /** The subject under which it is registered. */
  readonly subject: string;
  /** Its version there. */
  readonly version: number;
}

export interface SchemaText {
  readonly schema: string;
  /** Absent: Avro. */
  readonly schemaType?: SchemaType;
  readonly references?: readonly SchemaReference[];
}

/** A schema, and all that it refers to. */
export interface LoadedSchema {
  readonly type: SchemaType;
  readonly schema: string;
  readonly references: readonly { readonly name: string; readonly loaded: LoadedSchema }[];
}

/** As the registry answers. */
interface SchemaAnswer extends SchemaText {
  readonly id: number;
}

const MEDIA = 'application/vnd.schemaregistry.v1+json';
/** A schema of a schema of a schema … */
const DEEPEST_REFERENCE = 32;
const UNKNOWN_SCHEMA = 40403;

export class RegistryClient {
  private readonly byId: RecentCache<number, LoadedSchema>;

  constructor(readonly settings: RegistrySettings) {
    this.byId = new RecentCache(settings.cacheSize);
  }

  /** Rejects with `KQ_BAD_MESSAGE` where the registry knows no such id, else with `KQ_REGISTRY`. */
  schema(id: number): LoadedSchema | Promise<LoadedSchema> {
    return this.byId.get(id, async () => {
      try {
        return await this.load(await this.request<SchemaAnswer>('GET', `schemas/ids/${id}`));
      } catch (error) {
        if (!(error instanceof Refusal) || error.number !== UNKNOWN_SCHEMA) throw error;
        const fact = `the stored value names schema ${id}, which the registry does not have`;
        throw new KqError('KQ_BAD_MESSAGE', fact, { cause: error });
      }
    });
  }

  /** The newest schema of a subject, with its id. */
  async latest(subject: string): Promise<LoadedSchema & { readonly id: number }> {
    const answer = await this.request<SchemaAnswer>('GET', `${pathOf(subject)}/versions/latest`);
    return { ...(await this.load(answer)), id: answer.id };
  }

  /** The id of a schema in a subject; with `register` it is added there if it is new. */
  async idOf(subject: string, text: SchemaText, register: boolean): Promise<number> {
    const path = register ? `${pathOf(subject)}/versions` : pathOf(subject);
    const { id } = await this.request<{ id: number }>('POST', path, text);
    return id;
  }

  /** With all that it refers to. */
  async load({ schema, schemaType = 'AVRO', references = [] }: SchemaText, depth = 0): Promise<LoadedSchema> {
    if (depth > DEEPEST_REFERENCE)
      throw new KqError('KQ_REGISTRY', `references of schemas are more than ${DEEPEST_REFERENCE} deep`);
    const found: { name: string; loaded: LoadedSchema }[] = [];
    for (const { name, subject, version } of references) {
      const answer = await this.request<SchemaAnswer>('GET', `${pathOf(subject)}/versions/${version}`);
      found.push({ name, loaded: await this.load(answer, depth + 1) });
    }
    return { type: schemaType, schema, references: found };
  }

  /** Asks one registry after the other until one answers. Rejects with `KQ_REGISTRY`. */
  private async request<T>(method: string, path: string, body?: object): Promise<T> {
    let failure: KqError | undefined;
    for (const url of this.settings.urls) {
      const answer = await this.ask(method, `${url}/${path}`, body);
      if (!(answer instanceof KqError)) return answer as T;
      if (answer instanceof Refusal && !answer.passing) throw answer;
      failure = answer;
    }
    throw failure!;
  }

  private async ask(method: string, url: string, body?: object): Promise<unknown> {
    const what = `${method} ${url}`;
    const headers = {
      accept: `${MEDIA}, application/json`,
      ...(body && { 'content-type': MEDIA }),
      ...(await this.settings.authorize()),
    };
    let status: number;
    let text: string;
    try {
      const response = await fetch(url, {
        method,
        headers,
        redirect: 'error', // where to is not ours to trust with a login
        signal: AbortSignal.timeout(this.settings.timeout),
        ...(body && { body: JSON.stringify(body) }),
      });
      status = response.status;
      text = await response.text();
    } catch (cause) {
      return new KqError('KQ_REGISTRY', `${what}: ${reasonOf(cause)}`, { cause });
    }
    const answer = jsonOf(text);
    if (status >= 200 && status < 300 && answer !== undefined) return answer;
    return new Refusal(what, status, answer ?? {});
  }
}

/** `KQ_BAD_MESSAGE`: the schema with this id is of another type. */
export function expectType(expected: SchemaType, id: number, loaded: LoadedSchema): LoadedSchema {
  if (loaded.type === expected) return loaded;
  throw new KqError('KQ_BAD_MESSAGE', `schema ${id} is of the type ${loaded.type}: expected ${expected}`);
}

/** The registry has answered, and does not do it. */
class Refusal extends KqError {
  /** Of its error; undefined: it is none of a schema registry. */
  readonly number: number | undefined;
  /** Another one may do it, or the same one later. */
  readonly passing: boolean;

  constructor(what: string, status: number, answer: { error_code?: unknown; message?: unknown }) {
    const { error_code: number, message } = answer;
    const words = typeof message === 'string' ? `, ${show(message)}` : '';
    super(
      'KQ_REGISTRY',
      `${what}: the registry answered ${status}${typeof number === 'number' ? ` (${number})` : ''}${words}`,
    );
    this.number = typeof number === 'number' ? number : undefined;
    this.passing = status >= 500 || status === 429 || status === 408;
  }
}

function pathOf(subject: string): string {
  return `subjects/${encodeURIComponent(subject)}`;
}

/** `fetch` says only that it failed. */
function reasonOf(thrown: unknown): string {
  const error = toError(thrown);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  return cause.message || ('code' in cause ? String(cause.code) : error.message);
}

function jsonOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined; // a proxy's page, told by its status
  }
}
