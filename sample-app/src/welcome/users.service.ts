import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { DelayedHandler, DelayedJob, Discard, DqProducer, Retry } from 'nest-dq';
import { Mailer, MailRefused, MailServerBusy } from '../mail/mailer.js';
import { Settings } from '../settings.js';
import { WelcomeMail, type UserJob } from '../tubes.js';
import { UsersRepository, type User } from './users.repository.js';

/** Registers users; each gets a welcome mail a little later. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly mailer: Mailer,
    private readonly dq: DqProducer,
    private readonly settings: Settings,
  ) {}

  async register(name: string, email: string): Promise<User> {
    const user = { id: randomUUID(), name, email };
    await this.dq.delay(WelcomeMail, { userId: user.id }, this.settings.welcomeAfter);
    this.users.add(user);
    return user;
  }

  /** What is returned decides: Retry, Discard, else done. Any other error is thrown, and tried again by the backoff. */
  @DelayedHandler(WelcomeMail, { attempts: 5, backoff: { type: 'exponential', delay: '1s' } })
  async welcome({ userId }: UserJob, job: DelayedJob): Promise<Retry | Discard | void> {
    const user = this.users.find(userId);
    if (!user) return; // gone, or never saved
    try {
      await this.mailer.send({ id: job.id, to: user.email, subject: `Welcome, ${user.name}!` });
    } catch (error) {
      if (error instanceof MailServerBusy) return Retry.after('1s');
      if (error instanceof MailRefused) return Discard.because(error.message);
      throw error;
    }
  }
}
