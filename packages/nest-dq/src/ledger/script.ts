import { DqError, show } from '../errors.js';

/**
 * The keys `{<tube>}::<name>` that a tube has in addition to its job records. They come first in the KEYS of every script. In
 * Lua, the local with the name in upper case is the key, and HEAD is their number.
 */
export const TUBE_KEYS = [
  'dead',
  'letters',
  'index',
  'places',
  'retrying',
  'control',
  'running',
  'limits',
] as const;

/**
 * The keys of the finished jobs, which only tubes with the option `keepDone` have: a sorted set of ids by time, and a hash with an
 * entry for each. They come last in KEYS, and only in calls that are about them.
 */
export const FINISHED_KEYS = ['finished', 'ends'] as const;

/** The reply of a script: 1 if it acted and 0 if the call came too late, the server's time in microseconds, the answers. */
export type RawReply = readonly [acted: number, us: number, ...answers: (number | string)[]];

/**
 * The values of a request that a script needs: the Lua name of each, with the request's field or the function that computes it.
 * The names are part of the script, so a call sends only the values, in this order. In Lua `false` means that a value is absent;
 * a flag is 0 or 1.
 */
export type Fields<Request> = Readonly<Record<string, Field<Request>>>;
export type Field<Request> = keyof Request | ((request: Request, texts: SharedTexts) => unknown);

export function valueOf<Request, More extends unknown[]>(
  field: keyof Request | ((request: Request, ...more: More) => unknown),
  request: Request,
  ...more: More
): unknown {
  return (typeof field === 'function' ? field(request, ...more) : request[field]) ?? false;
}

/** Strings shared by many requests of a call: each is sent once, and the requests refer to it by number. */
export class SharedTexts {
  private readonly numbers = new Map<string, number>();

  /** Numbers start at 1. */
  numberOf(text: string): number {
    let number = this.numbers.get(text);
    if (number === undefined) this.numbers.set(text, (number = this.numbers.size + 1));
    return number;
  }

  toJSON(): string[] {
    return [...this.numbers.keys()];
  }
}

/** A verb of the Redis ledger: its script, the fields the script gets of each request, and how an answer is parsed. */
export interface RedisVerb<Request, Answer> {
  readonly fields: Fields<Request>;
  readonly script: string;
  readonly read: (from: ScriptReply, request: Request) => Answer;
  /** For requests that are about no job: the tube key they are about, which takes the place of a record's key. */
  readonly about?: (typeof TUBE_KEYS | typeof FINISHED_KEYS)[number];
  /** Whether a request needs the FINISHED_KEYS. @default none does */
  readonly needsFinished?: (request: Request) => boolean;
  /** The answer to each request if the reply has no answers. */
  readonly usual?: Answer;
}

/** Lua: the names of the fields, as a list of parameters or of arguments. */
export function namesOf<Request>(fields: Fields<Request>): string {
  return Object.keys(fields).join(', ');
}

/**
 * Lua: calls the function `name` with the key and the fields of each request, and replies with the values it returns. `args`
 * starts with the number of requests and the data of the whole call: `texts`, and the context of claims; then come the fields of
 * each request in turn.
 */
export function replyEach<Request>(fields: Fields<Request>, name: string): string {
  return forEachRequest(fields, `push(${callOf(name, fields)})`);
}

function callOf<Request>(name: string, fields: Fields<Request>): string {
  return `${name}(${['key', ...Object.keys(fields)].join(', ')})`;
}

function forEachRequest<Request>(fields: Fields<Request>, body: string): string {
  return `
local at = 2
for i = HEAD + 1, HEAD + args[1] do
  local key = KEYS[i]${localsOf(fields)}
  ${body}
end
`;
}

/** Lua: locals with the next values in `args`, one for each field. */
export function localsOf<Request>(fields: Fields<Request>): string {
  const count = Object.keys(fields).length;
  if (count === 0) return '';
  const values = Array.from({ length: count }, (_, i) => `args[at + ${i + 1}]`);
  return `
  local ${namesOf(fields)} = ${values.join(', ')}
  at = at + ${count}`;
}

/** Lua: a local for each name, in upper case, whose value is the name's index in the list, from 0. */
export function codes(names: readonly string[]): string {
  return `local ${names.join(', ').toUpperCase()} = ${names.map((_, i) => i).join(', ')}`;
}

/**
 * Lua: like `replyEach`, for a function that returns one of `codes(answers)`. If it returns the second, usual one for all
 * requests, the reply has no answers. `last` follows the last request.
 */
export function replyCodes<Request>(fields: Fields<Request>, name: string, last = ''): string {
  return `
local usual = true
${forEachRequest(
  fields,
  `local answer = ${callOf(name, fields)}
  reply[#reply + 1], usual = answer, usual and answer == 1`,
)}
${last}
return usual and { 1, us } or reply
`;
}

/** Parses the answers of `replyCodes`. */
export function readCodes<Answer extends string>(
  answers: readonly Answer[],
): Pick<RedisVerb<unknown, Answer>, 'read' | 'usual'> {
  return { read: (from) => from.entry(answers), usual: answers[1]! };
}

/** The error for a reply that none of our scripts makes. */
export function nonsense(value: unknown, expected: string): DqError {
  const cause = new Error(`a script replied ${show(value)}: expected ${expected}`);
  return new DqError('DQ_LEDGER_DOWN', `Redis sent an invalid reply: ${cause.message}`, {
    cause,
    indeterminate: true,
  });
}

/** Whether it starts as every reply does. */
export function isReply(reply: unknown): reply is RawReply {
  if (!Array.isArray(reply)) return false;
  const [acted, us] = reply as unknown[];
  return (acted === 0 || acted === 1) && Number.isSafeInteger(us) && (us as number) > 0;
}

/** Parses a script's reply from front to back, value by value. */
export class ScriptReply {
  private at = 2;

  constructor(private readonly reply: RawReply) {}

  get ended(): boolean {
    return this.at >= this.reply.length;
  }

  /** Server time, in microseconds. */
  get time(): number {
    return this.reply[1];
  }

  number(): number {
    const value = this.reply[this.at++];
    // A greater one isn't ours: Redis makes it from a time such as 1e300.
    if (!Number.isSafeInteger(value)) throw nonsense(value, 'a whole number');
    return value as number;
  }

  text(): string {
    const value = this.reply[this.at++];
    if (typeof value !== 'string') throw nonsense(value, 'a string');
    return value;
  }

  /** Reads a number, and returns the list's entry at that index. */
  entry<T>(meanings: readonly T[]): T {
    const value = this.number();
    const meaning = meanings[value];
    if (meaning === undefined) throw nonsense(value, `a number from 0 to ${meanings.length - 1}`);
    return meaning;
  }
}
