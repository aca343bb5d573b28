import { DqError, wrongValue } from '../errors.js';
import type { OutboxDialect } from './database.js';

/** Name of the table, if the options have none. */
export const TABLE = 'nest_dq_outbox';

export const DIALECTS: readonly OutboxDialect[] = ['postgres', 'mysql', 'sqlite'];

/** Settings of a migration. */
export interface OutboxMigrationOptions {
  /** Table name, with its schema if it needs one. @default 'nest_dq_outbox' */
  table?: string;
  /** Whether inserts notify the relays. PostgreSQL only. @default true */
  notify?: boolean;
}

/** The database's time, in ms since 1970. All times of the table are by this clock, so no process needs a correct one. */
const NOW: Readonly<Record<OutboxDialect, string>> = {
  postgres: '(extract(epoch from clock_timestamp()) * 1000)::bigint',
  mysql: 'CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)',
  sqlite: "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)",
};

const ID: Readonly<Record<OutboxDialect, string>> = {
  postgres: 'bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  mysql: 'bigint NOT NULL AUTO_INCREMENT PRIMARY KEY',
  sqlite: 'INTEGER PRIMARY KEY AUTOINCREMENT',
};

/**
 * Returns the statements that create the outbox table, for your own migrations, one per element. `DQ_BAD_OPTION`: unknown dialect,
 * or invalid table name.
 */
export function outboxMigration(dialect: OutboxDialect, options: OutboxMigrationOptions = {}): string[] {
  checkDialect(dialect);
  const { table: given, notify = true } = options;
  const table = checkTable(given);
  const text = (length: number) => (dialect === 'sqlite' ? 'text' : `varchar(${length})`);
  const long = dialect === 'mysql' ? 'mediumtext' : 'text';
  const bare = channelOf(table);
  const collation =
    dialect === 'mysql' ? ' ENGINE = InnoDB DEFAULT CHARSET = utf8mb4 COLLATE = utf8mb4_bin' : '';
  const statements = [
    `CREATE TABLE ${table} (
  id ${ID[dialect]},
  job ${text(100)} NOT NULL,
  tube ${text(200)} NOT NULL,
  body ${long} NOT NULL,
  created_at bigint NOT NULL,
  next_at bigint NOT NULL,
  claim ${text(36)},
  tries integer NOT NULL DEFAULT 0,
  open_tries integer NOT NULL DEFAULT 0,
  tried_at bigint,
  born_before bigint,
  error ${long},
  stuck_at bigint
)${collation}`,
    `CREATE INDEX ${bare}_job ON ${table} (job, id)`,
  ];
  if (dialect !== 'postgres' || !notify) return statements;
  const schema = table.includes('.') ? `${table.split('.')[0]}.` : '';
  return [
    ...statements,
    `CREATE FUNCTION ${schema}${bare}_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('${bare}', '');
  RETURN NULL;
END $$`,
    `CREATE TRIGGER ${bare}_notify AFTER INSERT ON ${table} FOR EACH STATEMENT EXECUTE FUNCTION ${schema}${bare}_notify()`,
  ];
}

/** The notification channel of a table. */
export function channelOf(table: string): string {
  return table.replaceAll('.', '_').toLowerCase();
}

/** The statements of one table. Placeholders are `?`, each used once, in the order of the values. */
export interface Statements {
  /** Values: job, tube, body. */
  readonly insert: string;
  /** Ids that can be claimed: of each job only the oldest row. PostgreSQL skips those that another relay is claiming. */
  readonly candidates: (batch: number) => string;
  /** Claims and returns rows in one statement; absent for MySQL. Value: claim. */
  readonly take?: (batch: number, lease: number) => string;
  /** Claims those ids that still can be. Value: claim. */
  readonly mark: (ids: readonly number[], lease: number) => string;
  /** Value: claim. */
  readonly taken: string;
  /** Records what was under the keys before the first try. Value: claim. */
  readonly before: (born: ReadonlyMap<number, number>) => string;
  /** Value: claim. */
  readonly remove: (ids: readonly number[]) => string;
  /** Tries again later. Values: error, claim. */
  readonly later: (id: number, delay: number, openTries: number) => string;
  /** Sets a row aside. Values: error, claim. */
  readonly setAside: (id: number) => string;
  readonly state: string;
  readonly stuck: (limit: number) => string;
  /** Lets rows be tried again from the start. */
  readonly retry: (ids: readonly number[]) => string;
  readonly discard: (ids: readonly number[]) => string;
}

const COLUMNS = 'id, job, tube, body, tries, open_tries, tried_at, born_before, created_at';

export function statementsOf(dialect: OutboxDialect, table: string): Statements {
  const now = NOW[dialect];
  const isReady = `stuck_at IS NULL AND next_at <= ${now}`;
  const among = (ids: readonly number[]) => `id IN (${ids.map(integer).join(', ')})`;
  const candidates = (batch: number) =>
    `SELECT o.id FROM ${table} o WHERE o.stuck_at IS NULL AND o.next_at <= ${now} ` +
    `AND NOT EXISTS (SELECT 1 FROM ${table} e WHERE e.job = o.job AND e.id < o.id) ORDER BY o.id LIMIT ${integer(batch)}`;
  const claims = (lease: number) =>
    `UPDATE ${table} SET claim = ?, next_at = ${now} + ${integer(lease)}, tries = tries + 1, open_tries = open_tries + 1, tried_at = COALESCE(tried_at, ${now})`;
  const columns = `${COLUMNS}, ${now} AS now`;
  const take =
    dialect === 'postgres'
      ? (batch: number, lease: number) =>
          `WITH picked AS MATERIALIZED (${candidates(batch)} FOR UPDATE OF o SKIP LOCKED) ` +
          `${claims(lease)} WHERE id IN (SELECT id FROM picked) RETURNING ${columns}`
      : (batch: number, lease: number) =>
          `${claims(lease)} WHERE id IN (${candidates(batch)}) RETURNING ${columns}`;
  return {
    insert: `INSERT INTO ${table} (job, tube, body, created_at, next_at) VALUES (?, ?, ?, ${now}, 0)`,
    candidates,
    ...(dialect === 'mysql' ? {} : { take }),
    mark: (ids, lease) => `${claims(lease)} WHERE ${among(ids)} AND ${isReady}`,
    taken: `SELECT ${columns} FROM ${table} WHERE claim = ? ORDER BY id`,
    before: (born) => {
      const cases = Array.from(born, ([id, each]) => `WHEN ${integer(id)} THEN ${integer(each)}`);
      return `UPDATE ${table} SET born_before = CASE id ${cases.join(' ')} END WHERE ${among([...born.keys()])} AND claim = ?`;
    },
    remove: (ids) => `DELETE FROM ${table} WHERE ${among(ids)} AND claim = ?`,
    later: (id, delay, openTries) =>
      `UPDATE ${table} SET error = ?, next_at = ${now} + ${integer(delay)}, open_tries = ${integer(openTries)}` +
      `${openTries === 0 ? ', tried_at = NULL, born_before = NULL' : ''} WHERE id = ${integer(id)} AND claim = ?`,
    setAside: (id) =>
      `UPDATE ${table} SET error = ?, stuck_at = ${now} WHERE id = ${integer(id)} AND claim = ?`,
    state:
      'SELECT COUNT(*) AS total, COUNT(stuck_at) AS stuck, ' +
      `MIN(CASE WHEN stuck_at IS NULL THEN created_at END) AS oldest, ${now} AS now FROM ${table}`,
    stuck: (limit) =>
      `SELECT id, job, tube, body, tries, created_at, stuck_at, error FROM ${table} WHERE stuck_at IS NOT NULL ORDER BY id LIMIT ${integer(limit)}`,
    retry: (ids) =>
      `UPDATE ${table} SET stuck_at = NULL, next_at = 0, tries = 0, open_tries = 0, tried_at = NULL, born_before = NULL WHERE ${among(ids)} AND stuck_at IS NOT NULL`,
    discard: (ids) => `DELETE FROM ${table} WHERE ${among(ids)} AND stuck_at IS NOT NULL`,
  };
}

/** Checks an integer before it goes into a statement. */
function integer(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw wrongValue('DQ_BAD_OPTION', 'a number of the outbox', value, 'an integer');
}

export function checkDialect(dialect: unknown): OutboxDialect {
  if (DIALECTS.includes(dialect as OutboxDialect)) return dialect as OutboxDialect;
  throw wrongValue('DQ_BAD_OPTION', '`dialect`', dialect, "'postgres', 'mysql' or 'sqlite'");
}

export function checkTable(table: unknown = TABLE): string {
  if (typeof table === 'string' && /^[a-z_]\w{0,50}(\.[a-z_]\w{0,50})?$/i.test(table)) return table;
  throw new DqError(
    'DQ_BAD_OPTION',
    `\`table\` is ${JSON.stringify(table)}: expected a name of letters, digits and _, with a schema or without`,
  );
}
