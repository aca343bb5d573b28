/** Client of a schema registry's REST API: Confluent's, or a compatible one. */
import { KqError, show, toError } from '../errors.js';
import type { RegistrySettings } from './registry-options.js';
import { RecentCache } from './recent-cache.js';

export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON';

/** A reference of a schema to another one. */
export interface SchemaReference {
  /** Name used in the schema: an Avro type, or the path of an import. */
  readonly name: string;
  /** Subject under which it is registered. */
  readonly subject: string;
  /** Version in that subject. */
  readonly version: number;
}

export interface SchemaText {
  readonly schema: string;
  /** Absent for Avro. */
  readonly schemaType?: SchemaType;
  readonly references?: readonly SchemaReference[];
}

/** A schema with everything it refers to. */
export interface LoadedSchema {
  readonly type: SchemaType;
  readonly schema: string;
  readonly references: readonly { readonly name: string; readonly loaded: LoadedSchema }[];
}

/** The registry's response. */
interface SchemaAnswer extends SchemaText {
  readonly id: number;
}

const MEDIA = 'application/vnd.schemaregistry.v1+json';
/** Max depth of references. */
const DEEPEST_REFERENCE = 32;
const UNKNOWN_SCHEMA = 40403;

export class RegistryClient {
  private readonly byId: RecentCache<number, LoadedSchema>;

  constructor(readonly settings: RegistrySettings) {
    this.byId = new RecentCache(settings.cacheSize);
  }

  /**
   * Returns the schema with this id. Rejects with `KQ_BAD_MESSAGE` if the registry doesn't know it, otherwise with
   * `KQ_REGISTRY`.
   */
  schema(id: number): LoadedSchema | Promise<LoadedSchema> {
    return this.byId.get(id, async () => {
      try {
        return await this.load(await this.request<SchemaAnswer>('GET', `schemas/ids/${id}`));
      } catch (error) {
        if (!(error instanceof Refusal) || error.number !== UNKNOWN_SCHEMA) throw error;
        const fact = `the stored value refers to schema ${id}, which the registry does not have`;
        throw new KqError('KQ_BAD_MESSAGE', fact, { cause: error });
      }
    });
  }

  /** Resolves with the newest schema of a subject, and its id. */
  async latest(subject: string): Promise<LoadedSchema & { readonly id: number }> {
    const answer = await this.request<SchemaAnswer>('GET', `${pathOf(subject)}/versions/latest`);
    return { ...(await this.load(answer)), id: answer.id };
  }

  /** Resolves with the id of a schema in a subject; with `register` it is added there if new. */
  async idOf(subject: string, text: SchemaText, register: boolean): Promise<number> {
    const path = register ? `${pathOf(subject)}/versions` : pathOf(subject);
    const { id } = await this.request<{ id: number }>('POST', path, text);
    return id;
  }

  /** Resolves with the schema and everything it refers to. */
  async load({ schema, schemaType = 'AVRO', references = [] }: SchemaText, depth = 0): Promise<LoadedSchema> {
    if (depth > DEEPEST_REFERENCE)
      throw new KqError('KQ_REGISTRY', `schema references are nested more than ${DEEPEST_REFERENCE} deep`);
    const found: { name: string; loaded: LoadedSchema }[] = [];
    for (const { name, subject, version } of references) {
      const answer = await this.request<SchemaAnswer>('GET', `${pathOf(subject)}/versions/${version}`);
      found.push({ name, loaded: await this.load(answer, depth + 1) });
    }
    return { type: schemaType, schema, references: found };
  }

  /** Tries the registries in order until one answers. Rejects with `KQ_REGISTRY`. */
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
        redirect: 'error', // the target can't be trusted with our credentials
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

/** Returns the schema; throws `KQ_BAD_MESSAGE` if it is of another type. */
export function expectType(expected: SchemaType, id: number, loaded: LoadedSchema): LoadedSchema {
  if (loaded.type === expected) return loaded;
  throw new KqError('KQ_BAD_MESSAGE', `schema ${id} is of type ${loaded.type}: expected ${expected}`);
}

/** The registry has answered, and refuses. */
class Refusal extends KqError {
  /** Its error code; undefined if the error isn't a schema registry's. */
  readonly number: number | undefined;
  /** Another registry may accept it, or this one later. */
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

/** Returns the underlying reason, since `fetch` only says that it failed. */
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
    return undefined; // a proxy's page; the status is reported
  }
}
