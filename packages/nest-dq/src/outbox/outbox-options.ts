import type { Duration } from 'nest-handlers/time';
import { DqError, show, unknownName, wrongValue } from '../errors.js';
import { parseDuration } from '../time/duration.js';
import { checkDialect, checkTable } from './sql.js';
import { runOn, type OutboxDatabase, type OutboxDialect, type OutboxQuery, type Run } from './database.js';

/** A client of `pg`, not connected yet: `() => new Client(url)`. */
export interface OutboxListener {
  /** Opens the connection. */
  connect(): Promise<unknown>;
  /** Runs `LISTEN`. */
  query(sql: string): Promise<unknown>;
  /** Listens to the events of the client. */
  on(event: 'notification' | 'error' | 'end', listener: (...given: any[]) => void): unknown;
  /** Closes the connection. */
  end(): Promise<unknown>;
}

/** Options of `DqOutboxModule`. A wrong one is `DQ_CONFIG`, and the application doesn't start. */
export interface DqOutboxOptions {
  /** SQL dialect of the database. */
  dialect: OutboxDialect;
  /** Pool or connection of the relay and of `state`, `stuck`, `retry` and `discard`. Never one with an open transaction. */
  database: OutboxDatabase;
  /** How to run statements on a database or a transaction that isn't recognised by its shape. @default by its shape */
  query?: (database: any) => OutboxQuery;
  /** Table, with its schema if it needs one. One per cluster and prefix. @default 'nest_dq_outbox' */
  table?: string;
  /** Whether this process relays. @default true */
  relay?: boolean;
  /** PostgreSQL: returns a new client of `pg` that waits for notifications, so that rows are relayed right after the commit. @default polling */
  listen?: () => OutboxListener | Promise<OutboxListener>;
  /** How often to look for rows, at least 50 ms. @default '1s', or '5s' with `listen` */
  pollEvery?: Duration;
  /** Max rows per round, 1 to 1,000. @default 100 */
  batch?: number;
  /** Tries of a row that can't become a job, before it's set aside, 1 to 100. Outages of servers don't count. @default 10 */
  attempts?: number;
}

export interface ResolvedOutboxOptions {
  readonly dialect: OutboxDialect;
  readonly table: string;
  readonly relay: boolean;
  readonly listen: DqOutboxOptions['listen'];
  /** In ms. */
  readonly pollEvery: number;
  readonly batch: number;
  readonly attempts: number;
  /** Runs statements of the relay. */
  readonly run: Run;
  /** Returns how to run statements on a transaction. `DQ_BAD_OPTION`. */
  readonly on: (tx: OutboxDatabase) => Run;
}

export const OPTION_NAMES = [
  'dialect',
  'database',
  'query',
  'table',
  'relay',
  'listen',
  'pollEvery',
  'batch',
  'attempts',
] as const satisfies readonly (keyof DqOutboxOptions)[];

/** Checks the options. `DQ_CONFIG`. */
export function resolveOutboxOptions(given: DqOutboxOptions): ResolvedOutboxOptions {
  try {
    return resolve(given);
  } catch (cause) {
    if (!(cause instanceof DqError)) throw cause;
    throw new DqError('DQ_CONFIG', `DqOutboxModule: ${cause.message.slice(cause.code.length + 2)}`, {
      cause,
    });
  }
}

function resolve(given: DqOutboxOptions): ResolvedOutboxOptions {
  if (typeof given !== 'object' || given === null)
    throw wrongValue('DQ_BAD_OPTION', 'the options', given, 'an object with `dialect` and `database`');
  const unknown = Object.keys(given).find((name) => !(OPTION_NAMES as readonly string[]).includes(name));
  if (unknown !== undefined) throw unknownName('DQ_BAD_OPTION', `option ${show(unknown)}`, OPTION_NAMES);
  const { database, query, relay = true, listen, batch = 100, attempts = 10 } = given;
  const dialect = checkDialect(given.dialect);
  const pollEvery = parseDuration(given.pollEvery ?? (listen ? '5s' : '1s'), '`pollEvery`');
  if (pollEvery < 50) throw wrongValue('DQ_BAD_OPTION', '`pollEvery`', given.pollEvery, '50 ms or more');
  if (typeof relay !== 'boolean') throw wrongValue('DQ_BAD_OPTION', '`relay`', relay, 'true or false');
  if (listen !== undefined && (dialect !== 'postgres' || typeof listen !== 'function'))
    throw wrongValue('DQ_BAD_OPTION', '`listen`', listen, 'a function, and `dialect` postgres');
  const on = (tx: OutboxDatabase) => runOn(query ? query(tx) : tx, dialect);
  return {
    dialect,
    table: checkTable(given.table),
    relay,
    listen,
    pollEvery,
    batch: between('batch', batch, 1_000),
    attempts: between('attempts', attempts, 100),
    run: on(database),
    on,
  };
}

function between(name: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw wrongValue('DQ_BAD_OPTION', `\`${name}\``, value, `1 to ${most}`);
}
