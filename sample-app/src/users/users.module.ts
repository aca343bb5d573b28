import { Module } from '@nestjs/common';
import { DatabaseModule } from '../common/database.module.js';
import { MailModule } from '../mail/mail.module.js';
import { UsersController } from './users.controller.js';
import { UsersRepository } from './users.repository.js';
import { UsersService } from './users.service.js';

@Module({
  imports: [DatabaseModule, MailModule],
  controllers: [UsersController],
  providers: [UsersService, UsersRepository],
})
export class UsersModule {}
