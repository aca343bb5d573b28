// The code of docs/changing-payloads.md, in its order. changing-payloads.spec.ts runs it.
import { Injectable } from '@nestjs/common';
import { DelayedHandler, DqProducer, defineTube } from 'nest-dq';
import { z } from 'zod';

export abstract class Mailer {
  abstract send(recipients: string[], subject: string): Promise<void>;
}

export namespace Tolerant {
  // a new field is optional, and the reader has a default
  export const Mail = defineTube<{ to: string; subject?: string }>('mail');

  @Injectable()
  export class Mails {
    constructor(private readonly mailer: Mailer) {}

    @DelayedHandler(Mail)
    async send({ to, subject = 'News' }: { to: string; subject?: string }) {
      await this.mailer.send([to], subject);
    }
  }
}

export namespace Versioned {
  const V1 = z.object({ to: z.string() }); // as it was stored before versions
  const V2 = z.object({ v: z.literal(2), recipients: z.array(z.string()), subject: z.string() });

  export const Mail = defineTube('mail', {
    schema: z.union([V2, V1.transform(({ to }) => ({ v: 2 as const, recipients: [to], subject: 'News' }))]),
  });

  @Injectable()
  export class Mails {
    constructor(private readonly mailer: Mailer) {}

    @DelayedHandler(Mail)
    async send({ recipients, subject }: z.infer<typeof V2>) {
      await this.mailer.send(recipients, subject); // knows one form only
    }
  }
}

export namespace TwoTubes {
  export const Mail = defineTube<{ to: string }>('mail');
  export const MailV2 = defineTube<{ recipients: string[]; subject: string }>('mail.v2');

  @Injectable()
  export class Mails {
    constructor(
      private readonly dq: DqProducer,
      private readonly mailer: Mailer,
    ) {}

    async cancel(key: string) {
      const refs = [Mail, MailV2].map((tube) => ({ tube, key })); // until the old tube is empty
      const results = await Promise.all(refs.map((ref) => this.dq.revoke(ref)));
      return results.includes('revoked');
    }

    @DelayedHandler(Mail)
    async sendOld({ to }: { to: string }) {
      await this.send({ recipients: [to], subject: 'News' });
    }

    @DelayedHandler(MailV2)
    async send({ recipients, subject }: { recipients: string[]; subject: string }) {
      await this.mailer.send(recipients, subject);
    }
  }
}
