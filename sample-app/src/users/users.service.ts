import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { DelayedHandler, DelayedJob, Discard, DqProducer, Retry, defineTube } from 'nest-dq';
import { Mailer, MailRefused, MailServerBusy } from '../mail/mailer.js';
import { settings, type Settings } from '../settings.js';
import type { CreateUserDto } from './create-user.dto.js';
import { UsersRepository, type User } from './users.repository.js';

interface UserJob {
  userId: string;
}

const WelcomeMail = defineTube<UserJob>('mail.welcome');

/** Registers users; each gets a welcome mail a little later. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly mailer: Mailer,
    private readonly dq: DqProducer,
    @Inject(settings.KEY) private readonly settings: Settings,
  ) {}

  async register({ name, email }: CreateUserDto): Promise<User> {
    const user = { id: randomUUID(), name, email };
    await this.dq.delay(WelcomeMail, { userId: user.id }, this.settings.welcomeAfter);
    this.users.save(user.id, user);
    return user;
  }

  /**
   * Decides by its return value: Retry, Discard, else done. Any other error is thrown, and retried with the backoff. After an hour a
   * welcome only confuses, so it expires, for example if nothing ran over a weekend.
   */
  @DelayedHandler(WelcomeMail, {
    attempts: 5,
    backoff: { type: 'exponential', delay: '1s' },
    expireAfter: '1h',
  })
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
