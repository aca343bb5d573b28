import { Body, Controller, Post, UseFilters } from '@nestjs/common';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import { CreateUserDto } from './create-user.dto.js';
import type { User } from './users.repository.js';
import { UsersService } from './users.service.js';

@Controller('users')
@UseFilters(QueueUnavailableFilter)
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Post()
  register(@Body() user: CreateUserDto): Promise<User> {
    return this.users.register(user);
  }
}
