import { Controller, Get } from '@nestjs/common';
import { Mailer, type Mail } from './mailer.js';

@Controller('mails')
export class MailsController {
  constructor(private readonly mailer: Mailer) {}

  @Get()
  list(): Mail[] {
    return this.mailer.sent();
  }
}
