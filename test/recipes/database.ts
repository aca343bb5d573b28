import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';

type Value = string | number | null;

/** The queries of a transaction, or of the database outside of one. */
export interface Queryable {
  query<Row>(sql: string, ...values: readonly Value[]): Promise<Row[]>;
}

/** SQLite in a file of its own: who is not in the transaction sees only what was committed. */
export class Database implements Queryable {
  /** A test may let a transaction fail here, or take its time. */
  beforeCommit: () => void | Promise<void> = () => undefined;
  /** Whether a transaction waits for the one before it: both are of one connection. */
  takesTurns = true;
  /** Statements that begin like this fail, outside of transactions. */
  failing: string | undefined;

  private readonly folder = mkdtempSync(join(tmpdir(), 'nest-dq-recipes-'));
  private readonly outside = this.connect();
  private readonly inside = this.connect();
  private last: Promise<unknown> = Promise.resolve();

  async query<Row>(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    if (this.failing !== undefined && sql.startsWith(this.failing)) throw new Error('crash');
    return all<Row>(this.outside, sql, values);
  }

  /** One after the other; rolled back when `work` rejects. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const tx: Queryable = {
      query: async <Row>(sql: string, ...values: readonly Value[]) => all<Row>(this.inside, sql, values),
    };
    const begun = async () => {
      this.inside.exec('BEGIN');
      try {
        const result = await work(tx);
        await this.beforeCommit();
        this.inside.exec('COMMIT');
        return result;
      } catch (error) {
        this.inside.exec('ROLLBACK');
        throw error;
      }
    };
    const next = this.takesTurns ? this.last.then(begun) : begun();
    this.last = next.catch(() => undefined);
    return next;
  }

  close(): void {
    this.outside.close();
    this.inside.close();
    rmSync(this.folder, { recursive: true });
  }

  private connect(): Libsql.Database {
    const connection = new Libsql(join(this.folder, 'shop.db'));
    connection.exec('PRAGMA journal_mode = WAL');
    return connection;
  }
}

function all<Row>(connection: Libsql.Database, sql: string, values: readonly Value[]): Row[] {
  const statement = connection.prepare(sql);
  if (statement.reader) return statement.all(...values) as Row[];
  statement.run(...values);
  return [];
}
