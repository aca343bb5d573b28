import { urlOf } from './address.js';
import { readLines } from './ndjson.js';
import type {
  BulkActs,
  BulkLine,
  BulkExampleWire,
  BulkProgressWire,
  ErrorWire,
  SingleActs,
} from '../../src/dashboard/wire.js';

/** A refusal by the server, or a missing response. */
export class RequestError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Gets data. The path is relative to the page, so that it holds below any prefix. */
export async function getData<T>(path: string, query: object = {}, signal?: AbortSignal): Promise<T> {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  const answer = await ask(`api/${path}${text === '' ? '' : `?${text}`}`, signal ? { signal } : {});
  return (await answer.json()) as T;
}

/** Asks with a time limit; without an answer by then, that is the error. */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const control = new AbortController();
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    control.abort();
  }, ms);
  const leave = () => control.abort(signal.reason);
  signal.addEventListener('abort', leave);
  try {
    return await ask(control.signal);
  } catch (error) {
    throw isLate ? new RequestError('NO_ANSWER', `no answer within ${ms / 1_000}s`) : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', leave);
  }
}

/** Does an act on one thing, and tells its result. */
export async function act<Name extends keyof SingleActs>(
  name: Name,
  body: SingleActs[Name]['body'],
): Promise<SingleActs[Name]['result']> {
  const answer = await ask(`api/acts/${name}`, posted(body));
  return ((await answer.json()) as { readonly result: SingleActs[Name]['result'] }).result;
}

/** An act on many, and what it takes. */
export type BulkAct = {
  [Name in keyof BulkActs]: { readonly name: Name; readonly body: BulkActs[Name]['body'] };
}[keyof BulkActs];

/** Does an act on many, and tells its progress after each page. To abort, or to stop the iteration, ends it. */
export async function* actOnMany(
  { name, body }: BulkAct,
  how: { readonly dryRun: boolean; readonly cursor?: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<BulkProgressWire<BulkExampleWire>, void, undefined> {
  const answer = await ask(`api/acts/${name}`, { ...posted({ ...body, ...how }), signal });
  if (!answer.body) throw new RequestError('NO_ANSWER', 'The response has no body.');
  for await (const line of readLines(answer.body)) {
    const told = line as BulkLine<BulkExampleWire>;
    if ('error' in told) throw errorFrom(told.error);
    if ('end' in told) return;
    yield told.progress;
  }
  throw new RequestError('NO_ANSWER', 'The connection was lost before the action finished.');
}

/** A part of a path. */
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
    answer = await fetch(urlOf(address), options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new RequestError('NO_ANSWER', error instanceof Error ? error.message : String(error));
  }
  if (answer.ok) return answer;
  throw errorOf(await answer.text(), answer.status);
}

/** A guard or a proxy of the application may answer in its own words. */
function errorOf(told: string, status: number): RequestError {
  let body: unknown;
  try {
    body = JSON.parse(told);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  const { code, message } = (typeof body === 'object' && body !== null ? body : {}) as Partial<ErrorWire>;
  if (code !== undefined && message !== undefined) return errorFrom({ code, message });
  return new RequestError(`HTTP ${status}`, message ?? told.slice(0, 300));
}

/** The message of the library's own errors begins with the code, which is shown by itself. */
function errorFrom({ code, message }: ErrorWire): RequestError {
  return new RequestError(code, message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message);
}
