import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { type } from 'arktype';
import { DelayedHandler, DqConsumer, DqModule, DqProducer, defineTube, type DqError } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import * as v from 'valibot';
import { z } from 'zod';

const Zod = defineTube('zod', { schema: z.object({ to: z.email(), at: z.coerce.date() }) });
const ZodLater = defineTube('zod.later', {
  schema: z.object({ to: z.email().refine(async (to) => to !== 'nobody@example.com'), at: z.coerce.date() }),
});
const Valibot = defineTube('valibot', {
  schema: v.object({
    to: v.pipe(v.string(), v.email()),
    at: v.pipe(
      v.string(),
      v.isoTimestamp(),
      v.transform((text) => new Date(text)),
    ),
  }),
});
const ArkType = defineTube('arktype', { schema: type({ to: 'string.email', at: 'string.date.parse' }) });

const AT = '2030-01-01T00:00:00.000Z';
const GOOD = { to: 'ann@example.com', at: AT };
const BAD = { to: 'ann', at: AT };
const READ = { to: 'ann@example.com', at: new Date(AT) };

@Injectable()
class Mails {
  readonly sent: unknown[] = [];

  @DelayedHandler(Zod)
  zod(mail: { to: string; at: Date }): void {
    this.sent.push(mail);
  }

  @DelayedHandler(ZodLater)
  zodLater(mail: { to: string; at: Date }): void {
    this.sent.push(mail);
  }

  @DelayedHandler(Valibot)
  valibot(mail: { to: string; at: Date }): void {
    this.sent.push(mail);
  }

  @DelayedHandler(ArkType)
  arkType(mail: { to: string; at: Date }): void {
    this.sent.push(mail);
  }
}

let kit: DqTestKit;
let app: TestingModule;

async function start(...providers: (typeof Mails)[]): Promise<void> {
  Logger.overrideLogger(false);
  kit = new DqTestKit();
  app = await kit.override(Test.createTestingModule({ imports: [DqModule.forRoot()], providers })).compile();
  await app.init();
}

afterEach(async () => {
  await app.close();
  await kit.close();
});

describe.each([
  ['Zod', Zod],
  ['Zod, asynchronous', ZodLater],
  ['Valibot', Valibot],
  ['ArkType', ArkType],
])('a schema of %s', (_library, tube) => {
  it('refuses on adding, with its issues, what the handler could not read', async () => {
    await start();
    const error = await app
      .get(DqProducer)
      .delay(tube, BAD, '1h')
      .catch((thrown: DqError) => thrown);
    expect(error).toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
      message: expect.stringMatching(
        new RegExp(`the schema of "${tube.name}" rejects the payload: to: .*mail`, 'i'),
      ),
      issues: [{ path: ['to'], message: expect.any(String) }],
    });
    expect(kit.scheduled(tube)).toEqual([]);
  });

  it('is stored as it was given, and read as the schema makes it', async () => {
    await start(Mails);
    await app.get(DqProducer).delay(tube, GOOD, '1h');
    expect(kit.scheduled(tube)).toMatchObject([{ payload: GOOD }]);
    expect(await kit.advance('1h')).toMatchObject({ completed: 1 });
    expect(app.get(Mails).sent).toEqual([READ]);
  });

  it('makes a dead letter at once of what no longer fits, without calling the handler', async () => {
    await start(Mails);
    await app.get(DqProducer).delay(tube.name, BAD, '1h', { attempts: 5 });
    expect(await kit.advance('1d')).toEqual({ started: 1, completed: 0, failed: 1, dead: 1, expired: 0 });
    expect(app.get(Mails).sent).toEqual([]);
    const { letters } = await app.get(DqDeadLetters).list(tube);
    expect(letters).toMatchObject([
      { why: 'invalid', attempt: 1, payload: BAD, error: { message: expect.stringMatching(/to: .*mail/i) } },
    ]);
  });

  it('is not asked by a handler of the plain name', async () => {
    await start();
    const got: unknown[] = [];
    await app.get(DqConsumer).consume(tube.name, (payload) => void got.push(payload));
    await app.get(DqProducer).now(tube.name, BAD);
    expect(await kit.drain()).toMatchObject({ completed: 1 });
    expect(got).toEqual([BAD]);
  });
});
