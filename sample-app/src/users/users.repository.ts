import { Inject, Injectable } from '@nestjs/common';
import { JsonTable } from '../common/json-table.js';
import { settings, type Settings } from '../settings.js';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

@Injectable()
export class UsersRepository extends JsonTable<User> {
  constructor(@Inject(settings.KEY) { folder }: Settings) {
    super(folder, 'users');
  }
}
