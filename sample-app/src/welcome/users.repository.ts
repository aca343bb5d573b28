import { Injectable } from '@nestjs/common';
import { Rows } from '../common/rows.js';
import { Settings } from '../settings.js';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

@Injectable()
export class UsersRepository {
  private readonly rows: Rows<User>;

  constructor({ folder }: Settings) {
    this.rows = new Rows(folder, 'users');
  }

  add(user: User): void {
    this.rows.set(user.id, user);
  }

  find(id: string): User | undefined {
    return this.rows.get(id);
  }
}
