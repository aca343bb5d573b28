import { Body, Controller, Post, UseFilters } from '@nestjs/common';
import { BodyOf } from '../common/body.js';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import type { User } from './users.repository.js';
import { UsersService } from './users.service.js';

interface NewUser {
  name: string;
  email: string;
}

const newUser = new BodyOf<NewUser>((fields) => ({
  name: fields.text('name'),
  email: fields.email('email'),
}));

@Controller('users')
@UseFilters(QueueUnavailableFilter)
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Post()
  register(@Body(newUser) { name, email }: NewUser): Promise<User> {
    return this.users.register(name, email);
  }
}
