import { Injectable } from '@nestjs/common';
import type Connection from 'libsql';
import { Database } from '../common/database.module.js';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

@Injectable()
export class UsersRepository {
  constructor(private readonly database: Database) {}

  find(id: string): User | undefined {
    const select = 'SELECT id, name, email FROM users WHERE id = ?';
    return this.database.connection.prepare(select).get(id) as User | undefined;
  }

  /** Saves a user in a transaction of `Database`. */
  save(tx: Connection.Database, { id, name, email }: User): void {
    tx.prepare('INSERT INTO users (id, name, email) VALUES (?, ?, ?)').run(id, name, email);
  }
}
