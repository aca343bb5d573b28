import { Body, Controller, Delete, HttpCode, Param, Post, UseFilters } from '@nestjs/common';
import { QueueUnavailableFilter } from '../common/queue-unavailable.filter.js';
import { CreateUserDto } from './create-user.dto.js';
import { NewsletterDto } from './newsletter.dto.js';
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

  @Post(':id/newsletter')
  @HttpCode(204)
  subscribe(@Param('id') id: string, @Body() plan: NewsletterDto): Promise<void> {
    return this.users.subscribe(id, plan);
  }

  @Delete(':id/newsletter')
  @HttpCode(204)
  unsubscribe(@Param('id') id: string): Promise<void> {
    return this.users.unsubscribe(id);
  }
}
