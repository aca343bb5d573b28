import { Injectable } from '@nestjs/common';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

@Injectable()
export class UsersRepository {
  private readonly rows = new Map<string, User>();

  add(user: User): void {
    this.rows.set(user.id, user);
  }

  find(id: string): User | undefined {
    return this.rows.get(id);
  }
}
