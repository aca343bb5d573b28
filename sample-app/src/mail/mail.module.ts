import { Controller, Get, Module } from '@nestjs/common';
import { Mailer, type Mail } from './mailer.js';

@Controller('mails')
class MailsController {
  constructor(private readonly mailer: Mailer) {}

  @Get()
  list(): Mail[] {
    return this.mailer.sent();
  }
}

@Module({ controllers: [MailsController], providers: [Mailer], exports: [Mailer] })
export class MailModule {}
