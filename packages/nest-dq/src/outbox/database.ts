import { DqError, show } from '../errors.js';

/** SQL dialect. `mysql` is MySQL 8 or MariaDB 10.6 and newer; `sqlite` is 3.35 and newer. */
export type OutboxDialect = 'postgres' | 'mysql' | 'sqlite';

/** A value of a statement. */
export type OutboxValue = string | number | null;

/** Runs one statement. Placeholders are `$1`, `$2`, … for PostgreSQL, otherwise `?`. Resolves with the rows, if it has any. */
export type OutboxQuery = (sql: string, values: readonly OutboxValue[]) => unknown;

/**
 * Something that runs statements: a transaction, a connection or a pool. Recognised by its shape: TypeORM's `EntityManager`,
 * `QueryRunner` and `DataSource`, Prisma, Knex, Kysely, MikroORM's SQL `EntityManager`, clients and pools of `pg` and
 * `mysql2/promise`, `node:sqlite`, better-sqlite3 and libsql. For Drizzle, see `drizzleQuery`. Or an `OutboxQuery`.
 */
export type OutboxDatabase = object | OutboxQuery;

/** A row of a result, by column. */
export type OutboxRow = Readonly<Record<string, unknown>>;

/** Runs one of our statements, whose placeholders are `?`. Resolves with its rows. */
export type Run = (sql: string, ...values: readonly OutboxValue[]) => Promise<OutboxRow[]>;

/** The methods by which clients are recognised. */
interface Shape {
  $queryRawUnsafe?(sql: string, ...values: readonly OutboxValue[]): unknown;
  raw?(sql: string, values: readonly OutboxValue[]): unknown;
  executeQuery?(query: object): unknown;
  getTransactionContext?(): unknown;
  execute?(sql: string, values: readonly OutboxValue[]): unknown;
  query?(sql: string, values: readonly OutboxValue[]): unknown;
  prepare?(sql: string): Statement;
}

interface Statement {
  /** In better-sqlite3 and libsql: whether it returns rows. */
  readonly reader?: boolean;
  all(...values: readonly OutboxValue[]): unknown;
  run(...values: readonly OutboxValue[]): unknown;
}

/** Returns how to run our statements on `database`. `DQ_BAD_OPTION` if it isn't recognised. */
export function runOn(database: OutboxDatabase, dialect: OutboxDialect): Run {
  const given = queryOf(database, dialect);
  if (given) return async (sql, ...values) => rowsOf(await given(sql, values));
  throw new DqError(
    'DQ_BAD_OPTION',
    `the database is ${show(database)}: expected a transaction, a connection, or a function (sql, values) => rows`,
  );
}

function queryOf(database: OutboxDatabase, dialect: OutboxDialect): OutboxQuery | undefined {
  if ((typeof database !== 'object' && typeof database !== 'function') || database === null) return undefined;
  const shape = database as Shape;
  const has = (method: keyof Shape) => typeof shape[method] === 'function';
  const placed = dialect === 'postgres' ? numbered : same;
  if (has('$queryRawUnsafe')) return (sql, values) => shape.$queryRawUnsafe!(placed(sql), ...values);
  if (has('raw')) return (sql, values) => shape.raw!(sql, values);
  if (has('executeQuery')) return (sql, values) => shape.executeQuery!(compiled(placed(sql), values));
  if (has('getTransactionContext')) return (sql, values) => shape.execute!(sql, values);
  if (has('query')) return (sql, values) => shape.query!(placed(sql), values);
  if (has('prepare')) return (sql, values) => executed(shape.prepare!(sql), values);
  return typeof database === 'function' ? (sql, values) => database(placed(sql), values) : undefined;
}

/**
 * Returns the `query` option for Drizzle, given its `sql`: `DqOutboxModule.forRoot({ query: drizzleQuery(sql), … })`. Its database
 * and transactions have `execute` (PostgreSQL, MySQL) or `all` (SQLite).
 */
export function drizzleQuery(
  sql: (strings: TemplateStringsArray, ...values: any[]) => object,
): (database: object) => OutboxQuery {
  return (database) => (text, values) => {
    const strings = text.split(/\$\d+|\?/);
    const query = sql(Object.assign(strings, { raw: strings }), ...values);
    const { execute, all } = database as Record<'execute' | 'all', ((query: object) => unknown) | undefined>;
    const run = execute ?? all;
    if (run) return run.call(database, query);
    throw new DqError('DQ_BAD_OPTION', `the database is ${show(database)}: expected one of Drizzle`);
  };
}

const same = (sql: string) => sql;

function numbered(sql: string): string {
  let number = 0;
  return sql.replaceAll('?', () => `$${++number}`);
}

/** Result of Kysely's `CompiledQuery.raw`. */
function compiled(sql: string, parameters: readonly OutboxValue[]): object {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  return { sql, parameters, query, queryId: { queryId: 'nest-dq' } };
}

/** `run`, where the driver has `all` for statements with rows only. */
function executed(statement: Statement, values: readonly OutboxValue[]): unknown {
  if (statement.reader !== false) return statement.all(...values);
  statement.run(...values);
  return [];
}

/** Drivers resolve with rows, with `{ rows }`, or with an array that begins with the rows; with anything else if there are none. */
function rowsOf(result: unknown): OutboxRow[] {
  const rows = Array.isArray(result) ? result : (result as { rows?: unknown } | undefined)?.rows;
  if (!Array.isArray(rows)) return [];
  return Array.isArray(rows[0]) ? (rows[0] as OutboxRow[]) : (rows as OutboxRow[]);
}
