import { Injectable, Logger } from '@nestjs/common';

export interface Mail {
  /** A mail that is sent again under the same id is sent once. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
}

/** The server wants to be asked again later. */
export class MailServerBusy extends Error {}

/** The server will never take this mail. */
export class MailRefused extends Error {}

/** Plays a mail server: `…@busy.example` is busy at the first try, `…@gone.example` does not exist. */
@Injectable()
export class Mailer {
  private readonly logger = new Logger(Mailer.name);
  private readonly mails = new Map<string, Mail>();
  private readonly tried = new Set<string>();

  sent(): Mail[] {
    return [...this.mails.values()];
  }

  async send(mail: Mail): Promise<void> {
    if (mail.to.endsWith('@gone.example')) throw new MailRefused(`there is no mailbox ${mail.to}`);
    if (mail.to.endsWith('@busy.example') && !this.tried.has(mail.id)) {
      this.tried.add(mail.id);
      throw new MailServerBusy('busy.example is busy');
    }
    if (this.mails.has(mail.id)) return;
    this.mails.set(mail.id, mail);
    this.logger.log(`to ${mail.to}: ${mail.subject}`);
  }
}
