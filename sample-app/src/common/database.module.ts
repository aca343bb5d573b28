import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Global, Inject, Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import Connection from 'libsql';
import { DqOutboxModule, outboxMigration } from 'nest-dq/outbox';
import { settings, type Settings } from '../settings.js';

/** SQLite in a file, so that the sample needs no server. */
@Injectable()
export class Database implements OnApplicationShutdown {
  /** For everything outside of transactions. */
  readonly connection: Connection.Database;
  private readonly inTransactions: Connection.Database;
  /** The last transaction. A connection has one at a time. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(@Inject(settings.KEY) { folder }: Settings) {
    mkdirSync(folder, { recursive: true });
    const connect = () => {
      const connection = new Connection(join(folder, 'users.db'));
      connection.exec('PRAGMA journal_mode = WAL');
      connection.exec('PRAGMA busy_timeout = 5000');
      return connection;
    };
    this.connection = connect();
    this.inTransactions = connect();
    this.migrate();
  }

  /** Commits what `work` does, or nothing of it if it rejects. */
  transaction<T>(work: (tx: Connection.Database) => Promise<T>): Promise<T> {
    const result = this.last.then(() => this.begin(work));
    this.last = result.catch(() => undefined); // the caller hears of it
    return result;
  }

  private async begin<T>(work: (tx: Connection.Database) => Promise<T>): Promise<T> {
    const tx = this.inTransactions;
    tx.exec('BEGIN IMMEDIATE');
    try {
      const result = await work(tx);
      tx.exec('COMMIT');
      return result;
    } catch (error) {
      tx.exec('ROLLBACK');
      throw error;
    }
  }

  private migrate(): void {
    const { user_version: version } = this.connection.prepare('PRAGMA user_version').get() as {
      user_version: number;
    };
    if (version > 0) return;
    this.connection.exec('CREATE TABLE users (id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL)');
    for (const statement of outboxMigration('sqlite')) this.connection.exec(statement);
    this.connection.exec('PRAGMA user_version = 1');
  }

  onApplicationShutdown(): void {
    this.connection.close();
    this.inTransactions.close();
  }
}

@Global()
@Module({ providers: [Database], exports: [Database] })
class ConnectionModule {}

/** The database, and the relay of the jobs that are written in its transactions. */
@Module({
  imports: [
    ConnectionModule,
    DqOutboxModule.forRootAsync({
      inject: [Database],
      useFactory: ({ connection }: Database) => ({ dialect: 'sqlite', database: connection }),
    }),
  ],
})
export class DatabaseModule {}
