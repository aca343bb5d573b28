import { rmSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import mysql from 'mysql2/promise';
import { outboxMigration, type OutboxDatabase, type OutboxDialect, type OutboxValue } from 'nest-dq/outbox';
import { Pool } from 'pg';

/** A database with an empty outbox. */
export interface TestDatabase {
  readonly dialect: OutboxDialect;
  /** Runs a statement outside of transactions. */
  query(sql: string, values?: readonly OutboxValue[]): Promise<Record<string, unknown>[]>;
  /** Runs `work` in a transaction, which is rolled back if it throws. */
  transaction<T>(work: (tx: OutboxDatabase) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

async function emptied(database: TestDatabase): Promise<TestDatabase> {
  await database.query('DROP TABLE IF EXISTS nest_dq_outbox');
  if (database.dialect === 'postgres') await database.query('DROP FUNCTION IF EXISTS nest_dq_outbox_notify');
  for (const statement of outboxMigration(database.dialect)) await database.query(statement);
  return database;
}

/** SQLite in a file, with one connection for transactions and one for everything else. */
export function openSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'nest-dq-outbox-'));
  const connect = () => {
    const connection = new Libsql(join(folder, 'outbox.db'));
    connection.exec('PRAGMA journal_mode = WAL');
    connection.exec('PRAGMA busy_timeout = 5000');
    return connection;
  };
  const [inside, outside] = [connect(), connect()];
  return emptied({
    dialect: 'sqlite',
    query: async (sql, values = []) => {
      const statement = outside.prepare(sql);
      if (statement.reader) return statement.all(...values) as Record<string, unknown>[];
      statement.run(...values);
      return [];
    },
    async transaction(work) {
      inside.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(inside);
        inside.exec('COMMIT');
        return result;
      } catch (error) {
        inside.exec('ROLLBACK');
        throw error;
      }
    },
    async close() {
      inside.close();
      outside.close();
      rmSync(folder, { recursive: true });
    },
  });
}

/** PostgreSQL, through `pg`. */
export function openPostgres(url: string): Promise<TestDatabase> {
  const pool = new Pool({ connectionString: url });
  pool.on('error', () => undefined); // a test stops the server
  return emptied({
    dialect: 'postgres',
    query: async (sql, values = []) => (await pool.query(sql, [...values])).rows as Record<string, unknown>[],
    async transaction(work) {
      const client = await pool.connect();
      try {
        await client.query('BEGIN');
        const result = await work(client);
        await client.query('COMMIT');
        return result;
      } catch (error) {
        await client.query('ROLLBACK');
        throw error;
      } finally {
        client.release();
      }
    },
    close: () => pool.end(),
  });
}

/** MariaDB, through `mysql2`. */
export function openMariadb(url: string): Promise<TestDatabase> {
  const pool = mysql.createPool({ uri: url });
  return emptied({
    dialect: 'mysql',
    query: async (sql, values = []) => {
      const [rows] = await pool.query(sql, [...values]);
      return Array.isArray(rows) ? (rows as Record<string, unknown>[]) : [];
    },
    async transaction(work) {
      const connection = await pool.getConnection();
      try {
        await connection.beginTransaction();
        const result = await work(connection);
        await connection.commit();
        return result;
      } catch (error) {
        await connection.rollback();
        throw error;
      } finally {
        connection.release();
      }
    },
    close: () => pool.end(),
  });
}
