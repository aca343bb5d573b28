import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common';
import { Pool, type PoolClient } from 'pg';

@Injectable()
export class Database implements OnModuleInit, OnModuleDestroy {
  private readonly logger = new Logger(Database.name);
  readonly pool = new Pool({
    connectionString: process.env.DATABASE_URL,
    // A job may run before a transaction commits that takes longer than its delay, and then finds no row.
    statement_timeout: 10_000,
    idle_in_transaction_session_timeout: 10_000,
  });

  async onModuleInit(): Promise<void> {
    this.pool.on('error', ({ message }) => this.logger.warn(`lost an idle connection: ${message}`));
    await this.pool.query('CREATE TABLE IF NOT EXISTS orders (id uuid PRIMARY KEY, status text NOT NULL)');
  }

  async transaction<T>(work: (tx: PoolClient) => Promise<T>): Promise<T> {
    const tx = await this.pool.connect();
    let failed = true;
    try {
      await tx.query('BEGIN');
      const result = await work(tx);
      await tx.query('COMMIT');
      failed = false;
      return result;
    } finally {
      tx.release(failed); // true closes the connection, and that rolls back
    }
  }

  /** Handlers have ended by now. */
  async onModuleDestroy(): Promise<void> {
    await this.pool.end();
  }
}
