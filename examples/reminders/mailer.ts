import { setTimeout } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';

export interface Mail {
  id: string;
  text: string;
  /** When it was being sent, in milliseconds since 1970. */
  from: number;
  until: number;
}

/** Plays a mail server that takes a moment for each mail. */
@Injectable()
export class Mailer {
  private readonly mails = new Map<string, Mail[]>();

  sent(tenant: string): Mail[] {
    return this.mails.get(tenant) ?? [];
  }

  async send(tenant: string, id: string, text: string): Promise<void> {
    const from = Date.now();
    await setTimeout(200);
    if (this.sent(tenant).some((mail) => mail.id === id)) return; // a job may run twice
    this.mails.set(tenant, [...this.sent(tenant), { id, text, from, until: Date.now() }]);
  }
}
