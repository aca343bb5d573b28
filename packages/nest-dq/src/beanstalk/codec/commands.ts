/**
 * The commands we send, each as its line. Pure: no socket, no state.
 * A line is ASCII and ends with CRLF, so 'latin1' gives its bytes. Only `put` is followed by more: its body and a CRLF.
 * An argument the server would refuse is refused here (BAD_ARGUMENT), because BAD_FORMAT costs the connection.
 * The server accepts 224 bytes per line, and no line with valid arguments is longer.
 */
import { show } from '../../errors.js';
import { BeanstalkError } from './beanstalk-error.js';

/** The line, or the reason why it can't be sent. */
export type Command = string | BeanstalkError;

export interface PutOptions {
  /** 0 is the most urgent, 2^32−1 the least. */
  readonly priority: number;
  /** In whole seconds. */
  readonly delay: number;
  /** How long a reserver has before the job is ready again, in whole seconds; 0 counts as 1. */
  readonly ttr: number;
}

export const commands = {
  put: (options: PutOptions, size: number): Command =>
    badNumber('priority', options.priority) ??
    badNumber('delay', options.delay) ??
    badNumber('ttr', options.ttr) ??
    badNumber('body size', size) ??
    `put ${options.priority} ${options.delay} ${options.ttr} ${size}\r\n`,

  use: (tube: string): Command => badTube(tube) ?? `use ${tube}\r\n`,

  reserveWithTimeout: (seconds: number): Command =>
    badNumber('timeout', seconds) ?? `reserve-with-timeout ${seconds}\r\n`,
  reserveJob: (id: string): Command => badId(id) ?? `reserve-job ${id}\r\n`,

  delete: (id: string): Command => badId(id) ?? `delete ${id}\r\n`,
  release: (id: string, priority: number, delay: number): Command =>
    badId(id) ??
    badNumber('priority', priority) ??
    badNumber('delay', delay) ??
    `release ${id} ${priority} ${delay}\r\n`,
  bury: (id: string, priority: number): Command =>
    badId(id) ?? badNumber('priority', priority) ?? `bury ${id} ${priority}\r\n`,
  touch: (id: string): Command => badId(id) ?? `touch ${id}\r\n`,

  watch: (tube: string): Command => badTube(tube) ?? `watch ${tube}\r\n`,
  ignore: (tube: string): Command => badTube(tube) ?? `ignore ${tube}\r\n`,

  peek: (id: string): Command => badId(id) ?? `peek ${id}\r\n`,
  kickJob: (id: string): Command => badId(id) ?? `kick-job ${id}\r\n`,

  stats: (): Command => 'stats\r\n',
  statsJob: (id: string): Command => badId(id) ?? `stats-job ${id}\r\n`,
  statsTube: (tube: string): Command => badTube(tube) ?? `stats-tube ${tube}\r\n`,

  listTubes: (): Command => 'list-tubes\r\n',

  quit: (): Command => 'quit\r\n',
};

const TUBE_NAME = /^(?!-)[A-Za-z0-9\-+/;.$_()]{1,200}$/;
const LARGEST_ID = '18446744073709551615';

/** Returns whether beanstalkd accepts a tube name: 1 to 200 of `A-Za-z0-9-+/;.$_()`, not beginning with `-`. */
export function isTubeName(name: unknown): name is string {
  return typeof name === 'string' && TUBE_NAME.test(name);
}

function badTube(tube: string): BeanstalkError | undefined {
  if (isTubeName(tube)) return undefined;
  return badArgument('tube name', tube, '1 to 200 of A-Za-z0-9-+/;.$_(), not beginning with -');
}

function badNumber(what: string, value: number): BeanstalkError | undefined {
  if (typeof value === 'number' && value >>> 0 === value) return undefined;
  return badArgument(what, value, 'an integer from 0 to 2^32-1');
}

function badId(id: string): BeanstalkError | undefined {
  if (isId(id)) return undefined;
  return badArgument('job id', id, 'a string of decimal digits, at most 2^64-1');
}

function isId(id: unknown): id is string {
  if (typeof id !== 'string' || id.length === 0 || id.length > LARGEST_ID.length) return false;
  for (let at = 0; at < id.length; at++) {
    const digit = id.charCodeAt(at) - 48;
    if (digit < 0 || digit > 9) return false;
  }
  return id.length < LARGEST_ID.length || id <= LARGEST_ID;
}

function badArgument(what: string, value: unknown, expected: string): BeanstalkError {
  return new BeanstalkError('BAD_ARGUMENT', `the ${what} is ${show(value)}: expected ${expected}`);
}
