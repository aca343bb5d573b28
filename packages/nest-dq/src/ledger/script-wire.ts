import type { RawReply } from './redis-connection.js';

/** The keys and arguments of one script call, which acts on one tube. Redis knows only texts. */
export class ScriptArguments {
  readonly keys: string[];
  readonly values: string[] = [];

  /** `base`: what the tube's keys begin with. No job has the ids of the dead letters: see `isJobId`. */
  constructor(private readonly base: string) {
    this.keys = [`${base}:dead`, `${base}:letters`];
  }

  job(id: string): void {
    this.keys.push(this.base + id);
  }

  text(...values: readonly string[]): void {
    this.values.push(...values);
  }

  number(...values: readonly number[]): void {
    for (const value of values) this.values.push(String(value));
  }

  /** Whole milliseconds, rounded up: nothing is due before its time. */
  time(value: number): void {
    this.values.push(String(Math.ceil(value)));
  }

  flag(value: boolean): void {
    this.values.push(value ? '1' : '0');
  }
}

/** A script's reply, read from front to back, answer by answer. */
export class ScriptReply {
  private at = 2;

  constructor(private readonly reply: RawReply) {}

  get ended(): boolean {
    return this.at >= this.reply.length;
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
  read(from: ScriptReply): Answer;
}

/** What a number in a reply stands for. */
export function entry<T>(meanings: readonly T[], value: number): T {
  const meaning = meanings[value];
  if (meaning === undefined) throw new TypeError(`a script replied ${value}, which means nothing`);
  return meaning;
}
