import { Module } from '@nestjs/common';
import { Mailer } from './mailer.js';
import { MailsController } from './mails.controller.js';

@Module({ controllers: [MailsController], providers: [Mailer], exports: [Mailer] })
export class MailModule {}
