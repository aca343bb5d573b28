import { parseArgs } from 'node:util';
import { readDuration } from '../time.js';
import { didYouMean, nearest } from './nearest.js';

/** An invalid argument; the message shows the value and what was expected. Exit status 2. */
export class WrongArguments extends Error {}

/** A flag as shown by `--help`. */
export interface Flag {
  /** Placeholder of its value, such as `PORT`. Absent if the flag takes no value. */
  readonly value?: string;
  /** The values to choose from, for completion. Absent if it takes others. */
  readonly values?: readonly string[];
  /** Description, printed line by line. */
  readonly help: string;
}

/** By name, without the dashes. */
export type Flags = Readonly<Record<string, Flag>>;

/** The operands and flags a command accepts. */
export interface Accepted {
  /** The words after the program's name. */
  readonly name: string;
  /** Operands after the name, such as `TUBE`; in brackets if optional. @default none */
  readonly operands?: readonly string[];
  /** Accepted flags. */
  readonly flags: Flags;
}

/** Arguments of a command. Anything wrong throws `WrongArguments`. */
export class Arguments {
  constructor(
    private readonly accepted: Accepted,
    private readonly values: Readonly<Record<string, unknown>>,
    private readonly operands: readonly string[],
  ) {}

  /** Returns an error about this command's arguments. */
  wrong(message: string): WrongArguments {
    return new WrongArguments(`${this.accepted.name}: ${message}`);
  }

  /** Returns an operand by its name in `operands`. */
  operand(name: string): string | undefined {
    const names = this.accepted.operands ?? [];
    return this.operands[names.findIndex((each) => each === name || each === `[${name}]`)];
  }

  /** Returns a required operand, already checked by `parseArguments`. */
  required(name: string): string {
    return this.operand(name)!;
  }

  /** Whether a flag without a value was given. */
  has(flag: string): boolean {
    return this.values[flag] === true;
  }

  /** Returns a flag's value, a non-empty string. */
  text(flag: string, expected: string): string | undefined {
    const given = this.values[flag];
    if (given === '') throw wrongFlag(flag, given, expected);
    return typeof given === 'string' ? given : undefined;
  }

  /** Returns a flag's value, a whole number within these bounds. */
  count(flag: string, least: number, most: number): number | undefined {
    const text = this.values[flag];
    if (typeof text !== 'string') return undefined;
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= least && value <= most) return value;
    throw wrongFlag(flag, text, `a whole number from ${least} to ${most}`);
  }

  /** Returns a flag's value, one of these words. */
  oneOf<T extends string>(flag: string, words: readonly T[]): T | undefined {
    const text = this.values[flag];
    if (typeof text !== 'string') return undefined;
    if (words.includes(text as T)) return text as T;
    throw wrongFlag(flag, text, `one of ${words.join(', ')}`);
  }

  /** Returns a duration in ms. */
  duration(flag: string): number | undefined {
    const text = this.values[flag];
    return typeof text === 'string' ? milliseconds(flag, text) : undefined;
  }

  /** Returns a Date from an ISO string with a zone, or from an offset to now, such as `15m` or `-1h`. `now`: in ms since 1970. */
  instant(flag: string, now: number): Date | undefined {
    const text = this.values[flag];
    if (typeof text !== 'string') return undefined;
    if (/^-?\d+(\.\d+)? ?[a-z]/i.test(text)) {
      const away = milliseconds(flag, text.replace(/^-/, ''));
      return new Date(now + (text.startsWith('-') ? -away : away));
    }
    return readInstant(flag, text, 'an offset from now, such as 15m or -1h');
  }

  /** Returns a Date from an ISO string with a zone, or from a time ago, such as `2h`. `now`: in ms since 1970. */
  ago(flag: string, now: number): Date | undefined {
    const text = this.values[flag];
    if (typeof text !== 'string') return undefined;
    if (/^\d+(\.\d+)? ?[a-z]/i.test(text)) return new Date(now - milliseconds(flag, text));
    return readInstant(flag, text, 'an age, such as 2h');
  }
}

/** Parses the arguments after the name of a command. */
export function parseArguments(accepted: Accepted, args: readonly string[]): Arguments {
  const { name, operands = [], flags } = accepted;
  const { values, positionals } = parse(name, flags, args);
  const [missing] = operands.slice(positionals.length).filter((each) => !each.startsWith('['));
  if (missing !== undefined && values['help'] !== true)
    throw new WrongArguments(`${name}: missing ${missing}.`);
  const more = positionals.slice(operands.length);
  if (more.length > 0) throw new WrongArguments(`${name}: unexpected argument ${more.join(' ')}.`);
  const empty = positionals.indexOf('');
  if (empty >= 0) throw new WrongArguments(`${name}: empty argument: expected ${operands[empty]}.`);
  return new Arguments(accepted, values, positionals);
}

function parse(name: string, flags: Flags, args: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([flag, { value }]) => [
      flag,
      {
        type: value === undefined ? ('boolean' as const) : ('string' as const),
        ...(flag === 'help' && { short: 'h' }),
      },
    ]),
  );
  const config = { args: joinNumbers(args), allowPositionals: true as const, options };
  const { tokens } = parseArgs({ ...config, strict: false, tokens: true });
  for (const token of tokens) {
    if (token.kind !== 'option' || Object.hasOwn(flags, token.name)) continue;
    const similar = nearest(token.name, Object.keys(flags)).map((flag) => `--${flag}`);
    throw new WrongArguments(`${name}: unknown option ${token.rawName}.${didYouMean(similar)}`);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    throw new WrongArguments(`${name}: ${(error as Error).message}`, { cause: error });
  }
}

/** Turns `--port -1` into `--port=-1`. Otherwise the parser takes -1 for a flag, and the message wouldn't name the value. */
function joinNumbers(args: readonly string[]): string[] {
  return args.reduce<string[]>((joined, arg) => {
    const last = joined.at(-1);
    if (last !== undefined && /^--[a-z-]+$/.test(last) && /^-[\d.]/.test(arg)) {
      return [...joined.slice(0, -1), `${last}=${arg}`];
    }
    return [...joined, arg];
  }, []);
}

function readInstant(flag: string, text: string, orElse: string): Date {
  const date = new Date(text);
  const hasZone = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:?\d\d)$/.test(text);
  if (hasZone && !Number.isNaN(date.getTime())) return date;
  throw wrongFlag(flag, text, `a time with a zone, such as 2026-12-24T18:00:00Z, or ${orElse}`);
}

function milliseconds(flag: string, text: string): number {
  const read = readDuration(text);
  if (typeof read === 'number') return read;
  throw new WrongArguments(`--${flag}: invalid duration ${JSON.stringify(text)}: ${read}.`);
}

function wrongFlag(flag: string, given: string, expected: string): WrongArguments {
  return new WrongArguments(`--${flag}: invalid value ${JSON.stringify(given)}: expected ${expected}.`);
}
