// Facts of docs/changing-payloads.md: what old jobs become in new code.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { DqModule, DqProducer } from 'nest-dq';
import { DqDeadLetters } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import { Mailer, Tolerant, TwoTubes, Versioned } from './changing-payloads.js';

const nothing = () => undefined;
let kit: DqTestKit;
let app: TestingModule;
let sent: unknown[];

beforeEach(() => {
  kit = new DqTestKit();
  sent = [];
});

afterEach(async () => {
  await app.close();
  await kit.close();
});

async function start(handlers: Type): Promise<DqProducer> {
  const mailer = { send: async (...mail: unknown[]) => void sent.push(mail) };
  const building = Test.createTestingModule({
    imports: [DqModule.forRoot({ logger: { log: nothing, warn: nothing, error: nothing } })],
    providers: [handlers, { provide: Mailer, useValue: mailer }],
  });
  app = await kit.override(building).compile();
  await app.init();
  return app.get(DqProducer);
}

it('a new field that is optional is missing in old jobs, and unknown fields reach an old handler unchanged', async () => {
  const dq = await start(Tolerant.Mails);
  await dq.delay('mail', { to: 'ann' }, '30d');
  await dq.delay('mail', { to: 'bob', subject: 'Hi', cc: 'new' }, '30d');
  await kit.advance('30d');
  expect(sent).toHaveLength(2);
  expect(sent).toEqual(
    expect.arrayContaining([
      [['ann'], 'News'],
      [['bob'], 'Hi'],
    ]),
  );
});

it('a schema with both forms gives the handler the new one', async () => {
  const dq = await start(Versioned.Mails);
  await dq.delay('mail', { to: 'ann' }, '30d');
  await dq.delay(Versioned.Mail, { v: 2, recipients: ['ann', 'bob'], subject: 'Hi' }, '30d');
  await kit.advance('30d');
  expect(sent).toHaveLength(2);
  expect(sent).toEqual(
    expect.arrayContaining([
      [['ann'], 'News'],
      [['ann', 'bob'], 'Hi'],
    ]),
  );
});

it('a payload of a version that the schema does not know is a dead letter at once, and stays', async () => {
  const dq = await start(Versioned.Mails);
  await dq.now('mail', { v: 3, to: ['ann'] });
  await kit.drain();
  const { letters } = await app.get(DqDeadLetters).list('mail');
  expect(letters).toMatchObject([{ why: 'invalid', payload: { v: 3, to: ['ann'] } }]);
});

it('two tubes run side by side, and a key is revoked in both', async () => {
  const dq = await start(TwoTubes.Mails);
  await dq.delay(TwoTubes.Mail, { to: 'ann' }, '1d', { key: '1' });
  await dq.delay(TwoTubes.MailV2, { recipients: ['bob'], subject: 'Hi' }, '1d', { key: '2' });
  await dq.delay(TwoTubes.Mail, { to: 'cid' }, '1d', { key: '3' });
  expect(await app.get(TwoTubes.Mails).cancel('3')).toBe(true);
  await kit.advance('1d');
  expect(sent).toEqual(
    expect.arrayContaining([
      [['ann'], 'News'],
      [['bob'], 'Hi'],
    ]),
  );
  expect(sent).toHaveLength(2);
});
