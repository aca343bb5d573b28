import type { RawReply } from './connection.js';

/** The keys of one script call, which acts on one tube, and what is said of the jobs. */
export class ScriptArguments {
  readonly keys: string[];
  private readonly values: (string | number)[] = [];

  /** `base`: what the tube's keys begin with. No job has the ids of the dead letters: see `isJobId`. */
  constructor(private readonly base: string) {
    this.keys = [`${base}:dead`, `${base}:letters`];
  }

  /** Of a call about one job: with no keys but that of its record, which stands in the place of the others. */
  get ownKeys(): string[] {
    const key = this.keys[2]!;
    return [key, key, key];
  }

  /** One JSON list: written and read at once, it costs client and server far less than an argument for each value. */
  get json(): string {
    return JSON.stringify(this.values);
  }

  job(id: string): void {
    this.keys.push(this.base + id);
  }

  text(value: string): void {
    this.values.push(value);
  }

  number(value: number): void {
    this.values.push(value);
  }

  /** The scripts read an empty text as none. */
  optional(value: number | undefined): void {
    this.values.push(value ?? '');
  }

  /** Whole milliseconds, rounded up: nothing is due before its time. */
  time(value: number): void {
    this.values.push(Math.ceil(value));
  }

  flag(value: boolean): void {
    this.values.push(value ? 1 : 0);
  }
}

/** A script's reply, read from front to back, answer by answer. */
export class ScriptReply {
  private at = 2;

  constructor(private readonly reply: RawReply) {}

  get ended(): boolean {
    return this.at >= this.reply.length;
  }

  /** The server's, in microseconds. */
  get time(): number {
    return this.reply[1];
  }

  number(): number {
    const value = this.reply[this.at++];
    if (typeof value !== 'number') throw new TypeError(`a script replied ${String(value)} for a number`);
    return value;
  }

  text(): string {
    const value = this.reply[this.at++];
    if (typeof value !== 'string') throw new TypeError(`a script replied ${String(value)} for a text`);
    return value;
  }
}

/** How the requests of one script are written, and its answers read. No decisions. */
export interface ScriptWire<Request, Answer> {
  write(to: ScriptArguments, request: Request): void;
  read(from: ScriptReply, request: Request): Answer;
  /** The answer to all requests where the reply has none. */
  readonly usual?: Answer;
}

/** What a number in a reply stands for. */
export function entry<T>(meanings: readonly T[], value: number): T {
  const meaning = meanings[value];
  if (meaning === undefined) throw new TypeError(`a script replied ${value}, which means nothing`);
  return meaning;
}
