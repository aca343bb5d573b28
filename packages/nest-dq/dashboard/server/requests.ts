import { readLines } from './ndjson.js';
import type { ActName, Progress } from './views.js';

/** What the server refuses, or that it does not answer. */
export class RequestError extends Error {
  constructor(
    readonly code: string,
    message: string,
    /** Of HTTP; 0: no answer. */
    readonly status: number,
  ) {
    super(message);
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Gets data. The path is relative to the page, so that it holds below any prefix. */
export async function getData<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const answer = await ask(`api/${path}${text === '' ? '' : `?${text}`}`, signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** Does an act on one thing, and tells its result. */
export async function act<T = unknown>(name: ActName, body: object): Promise<T> {
  const answer = await ask(`api/acts/${name}`, posted(body));
  return ((await answer.json()) as { readonly result: T }).result;
}

/** Does an act on many, and tells its progress after each page. To abort ends it. */
export async function* actOnMany(
  name: ActName,
  body: object,
  signal: AbortSignal,
): AsyncGenerator<Progress, void, undefined> {
  const answer = await ask(`api/acts/${name}`, { ...posted(body), signal });
  if (!answer.body) throw new RequestError('NO_ANSWER', 'the answer has no body', answer.status);
  for await (const line of readLines(answer.body)) {
    const { error, ...progress } = line as Progress & { readonly error?: { code?: string; message: string } };
    if (error) throw new RequestError(error.code ?? '', error.message, answer.status);
    yield progress;
  }
}

export function inPath(text: string): string {
  return encodeURIComponent(text);
}

function posted(body: object): RequestInit {
  const headers = { 'Content-Type': 'application/json', 'X-Nest-Dq': '1' };
  return { method: 'POST', headers, body: JSON.stringify(body) };
}

async function ask(address: string, options: RequestInit): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(address, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new RequestError('NO_ANSWER', error instanceof Error ? error.message : String(error), 0);
  }
  if (answer.ok) return answer;
  const told = await answer.text();
  throw errorOf(told, answer.status);
}

function errorOf(told: string, status: number): RequestError {
  try {
    const { code, message } = JSON.parse(told) as { readonly code?: string; readonly message?: string };
    return new RequestError(code ?? String(status), message ?? told, status);
  } catch {
    // A guard or a proxy answered, in its own words.
    return new RequestError(String(status), told.slice(0, 300) || `HTTP ${status}`, status);
  }
}
