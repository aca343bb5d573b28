// Facts of docs/schemas.md about a schema that changes while processes of two versions run.
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DelayedHandler, DqModule, DqProducer, defineTube } from 'nest-dq';
import { DqControl, DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { z } from 'zod';

const Old = defineTube('mail', { schema: z.object({ to: z.string() }) });
const New = defineTube('mail', { schema: z.object({ recipients: z.array(z.string()) }) });
/** Reads both forms, and gives handlers the new one. */
const Both = defineTube('mail', {
  schema: z.union([
    z.object({ recipients: z.array(z.string()) }),
    z.object({ to: z.string() }).transform(({ to }) => ({ recipients: [to] })),
  ]),
});
/** Says of what it does not know nothing at all: it may be of a newer version. */
const Patient = defineTube('mail', {
  schema: z.unknown().transform((payload) => {
    const read = z.object({ to: z.string() }).safeParse(payload);
    if (!read.success) throw new Error('a payload of another version');
    return read.data;
  }),
});

const sent: unknown[] = [];
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  sent.length = 0;
  for (const close of closing.splice(0).reverse()) await close();
});

function kitOfTest(): DqTestKit {
  const kit = new DqTestKit();
  closing.push(() => kit.close());
  return kit;
}

/** A version of the application, which consumes the tube so. */
async function start(kit: DqTestKit, tube: typeof Old | typeof New | typeof Both | typeof Patient) {
  @Injectable()
  class Mails {
    @DelayedHandler(tube as typeof Both)
    send(mail: unknown): void {
      sent.push(mail);
    }
  }
  const logger = { log: () => undefined, warn: () => undefined, error: () => undefined };
  const imports = [DqModule.forRoot({ logger })];
  const app: TestingModule = await kit
    .override(Test.createTestingModule({ imports, providers: [Mails] }))
    .compile();
  closing.push(() => app.close());
  await app.init();
  return app;
}

/** Adds a job as a producer of the next version. */
const addNew = (app: TestingModule) => app.get(DqProducer).now(New, { recipients: ['ann', 'bob'] });
const why = async (app: TestingModule) =>
  (await app.get(DqDeadLetters).list('mail')).letters.map((letter) => letter.why);

describe('a payload of a new form', () => {
  it('is a dead letter at once where a process of the old version takes it, and can be revived later', async () => {
    const kit = kitOfTest();
    const old = await start(kit, Old);
    await addNew(old);
    await kit.drain();
    expect([sent, await why(old)]).toEqual([[], ['invalid']]);
    await closing.pop()!();
    const next = await start(kit, New);
    await kit.advance('1s'); // later than it died
    const counts: number[] = [];
    for await (const { done } of next.get(DqControl).reviveMany('mail', { why: 'invalid' }))
      counts.push(done);
    expect(counts.at(-1)).toBe(1);
    await kit.drain();
    expect([sent, await why(next)]).toEqual([[{ recipients: ['ann', 'bob'] }], []]);
  });

  it('runs where all consumers read both forms before any producer adds the new one', async () => {
    const kit = kitOfTest();
    const app = await start(kit, Both);
    await app.get(DqProducer).now(Old, { to: 'ann' });
    await addNew(app);
    await kit.drain();
    expect(sent).toEqual(expect.arrayContaining([{ recipients: ['ann'] }, { recipients: ['ann', 'bob'] }]));
    expect(await why(app)).toEqual([]);
  });

  it('is retried, until a newer process takes it, where the schema throws instead of refusing it', async () => {
    const kit = kitOfTest();
    const old = await start(kit, Patient);
    await addNew(old);
    await kit.drain();
    expect([sent, await why(old)]).toEqual([[], []]);
    await closing.pop()!();
    await start(kit, New);
    await kit.advance('1m');
    expect(sent).toEqual([{ recipients: ['ann', 'bob'] }]);
  });
});
