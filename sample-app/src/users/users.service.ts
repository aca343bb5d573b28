import { randomUUID } from 'node:crypto';
import { Inject, Injectable, NotFoundException } from '@nestjs/common';
import { DelayedHandler, DelayedJob, Discard, DqSeries, Retry, defineTube } from 'nest-dq';
import { DqOutbox } from 'nest-dq/outbox';
import { Database } from '../common/database.module.js';
import { Mailer, MailRefused, MailServerBusy } from '../mail/mailer.js';
import { settings, type Settings } from '../settings.js';
import type { CreateUserDto } from './create-user.dto.js';
import type { NewsletterDto } from './newsletter.dto.js';
import { UsersRepository, type User } from './users.repository.js';

interface UserJob {
  userId: string;
}

const WelcomeMail = defineTube<UserJob>('mail.welcome');
const Newsletter = defineTube<UserJob>('mail.newsletter');

/** Registers users; each gets a welcome mail a little later, and a newsletter as often as they like. */
@Injectable()
export class UsersService {
  constructor(
    private readonly users: UsersRepository,
    private readonly mailer: Mailer,
    private readonly database: Database,
    private readonly outbox: DqOutbox,
    private readonly series: DqSeries,
    @Inject(settings.KEY) private readonly settings: Settings,
  ) {}

  /** Commits the user and their mail together: both exist, or neither. It works while the queue is down, too. */
  async register({ name, email }: CreateUserDto): Promise<User> {
    const user = { id: randomUUID(), name, email };
    await this.database.transaction(async (tx) => {
      this.users.save(tx, user);
      await this.outbox.delay(tx, WelcomeMail, { userId: user.id }, this.settings.welcomeAfter);
    });
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
    if (!user) return; // gone
    try {
      await this.mailer.send({ id: job.id, to: user.email, subject: `Welcome, ${user.name}!` });
    } catch (error) {
      if (error instanceof MailServerBusy) return Retry.after('1s');
      if (error instanceof MailRefused) return Discard.because(error.message);
      throw error;
    }
  }

  /** Subscribing again with another interval changes the plan; with the same one, nothing. */
  async subscribe(userId: string, { every }: NewsletterDto): Promise<void> {
    if (!this.users.find(userId)) throw new NotFoundException(`no user ${userId}`);
    await this.series.upsert(`newsletter:${userId}`, { tube: Newsletter, every, payload: { userId } });
  }

  async unsubscribe(userId: string): Promise<void> {
    await this.series.remove(`newsletter:${userId}`);
  }

  @DelayedHandler(Newsletter)
  async newsletter({ userId }: UserJob, job: DelayedJob): Promise<void> {
    const user = this.users.find(userId);
    if (!user) return this.unsubscribe(userId);
    const id = `${job.id} ${job.dueAt.toISOString()}`; // all of a series' occurrences are one job
    await this.mailer.send({ id, to: user.email, subject: `News for ${user.name}` });
  }
}
