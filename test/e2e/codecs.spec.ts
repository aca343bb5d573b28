import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decode, encode } from '@msgpack/msgpack';
import { Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import {
  Again,
  defineTube,
  DqConsumer,
  DqModule,
  DqProducer,
  DqSeries,
  type DelayedJob,
  type PayloadCodec,
} from 'nest-dq';
import { DqDeadLetters, EncodedPayload } from 'nest-dq/operate';
import { DqTestKit } from 'nest-dq/testing';
import superjson from 'superjson';
import { eventually } from 'test-servers';
import { z } from 'zod';
import { clusterSuite } from '../support/suite.js';

interface Reminder {
  at: Date;
  tags: Map<string, bigint>;
}

export const superjsonCodec: PayloadCodec = {
  name: 'superjson',
  encode: superjson.stringify,
  decode: superjson.parse,
};
export const msgpackCodec: PayloadCodec = {
  name: 'msgpack',
  encode: (payload) => encode(payload),
  decode: (stored) => decode(stored),
};

const REMINDER: Reminder = { at: new Date('2030-01-01'), tags: new Map([['a', 9_007_199_254_740_993n]]) };
const Reminders = defineTube<Reminder>('reminder', { codec: superjsonCodec });
const Packed = defineTube<{ at: Date; bytes: Uint8Array }>('packed', { codec: msgpackCodec });
const PACKED = { at: new Date('2030-01-01'), bytes: new Uint8Array([0, 255, 10]) };
/** As in a process of an older version of the application. */
const Before = defineTube<{ at: Date }>('reminder');
/** As in the first of two deploys. */
const Between = defineTube<{ at: Date }>('reminder', { alsoReads: [superjsonCodec] });

const suite = clusterSuite();

describe('a tube with a codec', () => {
  let kit: DqTestKit;
  let app: TestingModule;
  let producer: DqProducer;
  let consumer: DqConsumer;
  beforeEach(async () => {
    Logger.overrideLogger(false);
    kit = new DqTestKit();
    app = await kit.override(Test.createTestingModule({ imports: [DqModule.forRoot()] })).compile();
    await app.init();
    producer = app.get(DqProducer);
    consumer = app.get(DqConsumer);
  });
  afterEach(async () => {
    await app.close();
    await kit.close();
  });

  it('gives the handler what was added: Date, Map and BigInt with superjson, Date and bytes with MessagePack', async () => {
    const seen: unknown[] = [];
    await consumer.consume(Reminders, (payload, job) => void seen.push(payload, job.payload));
    await consumer.consume(Packed, (payload) => void seen.push(payload));
    await producer.delay(Reminders, REMINDER, '1m');
    await producer.delay(Packed, PACKED, '2m');
    expect(kit.scheduled(Reminders).map(({ payload }) => payload)).toEqual([REMINDER]);
    expect(() => kit.scheduled('packed')).toThrow(/encoded with the codec "msgpack"/);
    await kit.advance('2m');
    expect(seen).toEqual([REMINDER, REMINDER, PACKED]);
  });

  it('keeps the payload through a retry, `Again` and a move', async () => {
    const seen: unknown[] = [];
    const outcomes = [Again.after('1m'), new Error('no'), undefined];
    await consumer.consume(Packed, (payload) => {
      seen.push(payload);
      const outcome = outcomes[seen.length - 1];
      if (outcome instanceof Error && !(outcome instanceof Again)) throw outcome;
      return outcome;
    });
    const receipt = await producer.delay(Packed, PACKED, '1m');
    await producer.reschedule(receipt, { delay: '2m' });
    await kit.advance('1h');
    expect(seen).toEqual([PACKED, PACKED, PACKED]);
  });

  it('rejects an add that its codec cannot encode, and stores nothing', async () => {
    const Failing = defineTube<bigint>('failing', {
      codec: { ...superjsonCodec, encode: JSON.stringify },
    });
    const add = producer.tube(Failing).now(5n);
    await expect(add).rejects.toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
      message: expect.stringContaining(`the codec "superjson" can't encode the payload`),
    });
    expect(kit.scheduled(Failing)).toEqual([]);
  });

  it('gives its schema the decoded payload, at the add and at the run', async () => {
    const Dated = defineTube('dated', { schema: z.object({ at: z.date() }), codec: superjsonCodec });
    const seen: unknown[] = [];
    await consumer.consume(Dated, (payload) => void seen.push(payload));
    await producer.now(Dated, { at: REMINDER.at });
    const add = producer.now(Dated, { at: '2030-01-01' } as never);
    await expect(add).rejects.toMatchObject({ code: 'DQ_BAD_PAYLOAD', issues: [{ path: ['at'] }] });
    await kit.drain();
    expect(seen).toEqual([{ at: REMINDER.at }]);
  });

  it('takes new payloads from whoever has the codec, and no JSON in place of an encoded one', async () => {
    const seen: unknown[] = [];
    await consumer.consume(Reminders, (payload) => void seen.push(payload));
    const { ref } = await producer.delay(Reminders, REMINDER, '1m', { key: 'k' });
    const at = new Date('2031-01-01');
    for (const given of [ref, { tube: 'reminder', key: 'k' }, { tube: Before, key: 'k' }]) {
      const move = producer.reschedule(given, { delay: '1m' }, { payload: { at: new Date() } });
      await expect(move).rejects.toMatchObject({
        code: 'DQ_BAD_PAYLOAD',
        message: expect.stringContaining('is encoded with the codec "superjson", and the new one isn\'t'),
      });
    }
    await producer.tube(Reminders).reschedule({ ref }, { delay: '1m' }, { payload: { ...REMINDER, at } });
    await kit.advance('1m');
    expect(seen).toEqual([{ ...REMINDER, at }]);
    await producer.delay(Reminders, REMINDER, '1m', { key: 'k' });
    await producer.reschedule({ tube: Between, key: 'k' }, { delay: '1m' }, { payload: { at } });
    await kit.advance('1m');
    expect(seen[1]).toEqual({ at: at.toISOString() }); // JSON, by a process that may write it
  });

  it('shows its dead letters decoded, and others as they are stored', async () => {
    const letters = app.get(DqDeadLetters);
    await consumer.consume(
      Reminders,
      () => {
        throw new Error('no');
      },
      { attempts: 1 },
    );
    await producer.now(Reminders, REMINDER, { key: 'k' });
    await kit.drain();
    const [own] = (await letters.list(Reminders)).letters;
    expect(own!.payload).toEqual(REMINDER);
    expect(own).not.toHaveProperty('encoded');
    expect(await letters.get({ tube: Reminders, key: 'k' })).toMatchObject({ payload: REMINDER });
    for (const found of [await letters.get(own!), (await letters.list('reminder')).letters[0]]) {
      expect(found).not.toHaveProperty('payload');
      expect(found!.encoded).toBeInstanceOf(EncodedPayload);
      expect(found!.encoded).toMatchObject({ codec: 'superjson', stored: superjson.stringify(REMINDER) });
    }
    const plain = letters.revive(own!, { payload: { at: 'x' } });
    await expect(plain).rejects.toMatchObject({ code: 'DQ_BAD_PAYLOAD' });
    const revived = letters.revive(
      { tube: Reminders, key: 'k' },
      { payload: { ...REMINDER, tags: new Map() } },
    );
    expect(await revived).toBe('revived');
    expect(kit.scheduled(Reminders)[0]!.payload).toEqual({ ...REMINDER, tags: new Map() });
  });

  it('plans series, whose payload any process adds', async () => {
    const seen: unknown[] = [];
    await consumer.consume(Packed, (payload) => void seen.push(payload));
    const series = app.get(DqSeries);
    const plan = { tube: Packed, every: '1h', payload: PACKED } as const;
    expect(await series.upsert('hourly', plan)).toEqual({ status: 'created' });
    expect(await series.upsert('hourly', plan)).toEqual({ status: 'unchanged' });
    expect((await series.find('hourly'))!.payload).toMatchObject({ codec: 'msgpack' });
    await kit.advance('2h');
    expect(seen).toEqual([PACKED, PACKED]);
  });
});

describe('processes on real servers of which only some have the codec', () => {
  it('run each job once with its own payload: those without it leave it to the others', async () => {
    const [older, newer] = [suite.start(), suite.start()];
    const options = { backoff: { type: 'fixed', delay: '100ms' }, attempts: 100 } as const;
    const before: unknown[] = [];
    const after: unknown[] = [];
    const old = await older.consumer.consume(Before, (payload) => void before.push(payload), options);
    const added = Array.from({ length: 20 }, (_, index) => ({ ...REMINDER, at: new Date(index) }));
    await newer.producer.addMany(
      Reminders,
      added.map((payload) => ({ payload, delay: 0 })),
    );
    await older.producer.now(Before, { at: new Date(99) });
    const failures: unknown[] = [];
    older.events.on('failed').subscribe(({ error }) => failures.push(error));
    await eventually('the older one has seen some', () => failures.length > 0);
    await newer.consumer.consume(Reminders, (payload) => void after.push(payload), options);
    await eventually('the newer one runs some that the older one has seen', () => after.length > 0);
    await old.stop(); // the deploy is over
    await eventually('all ran', () => before.length + after.length === 21);
    const byTime = (one: unknown, other: unknown) =>
      Number((one as Reminder).at) - Number((other as Reminder).at);
    const isEncoded = (payload: unknown) => (payload as Reminder).at instanceof Date;
    expect(before.filter(isEncoded)).toEqual([]);
    expect(after.filter(isEncoded).toSorted(byTime)).toEqual(added);
    expect(failures[0]).toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
      message: expect.stringContaining('codec "superjson", and this process reads none here'),
    });
  }, 60_000);

  it('make dead letters of what nobody can read, which are revived after the deploy', async () => {
    const older = suite.start();
    const { attempt } = await new Promise<DelayedJob | { attempt: number }>((resolve) => {
      older.events.on('dead').subscribe(({ letter }) => resolve(letter));
      const codec = { ...superjsonCodec, name: 'other' };
      void older.consumer
        .consume(defineTube('letters', { codec }), () => resolve({ attempt: 0 }), {
          attempts: 2,
          backoff: { type: 'fixed', delay: 50 },
        })
        .then(() => older.producer.now(defineTube<Reminder>('letters', { codec: superjsonCodec }), REMINDER));
    });
    expect(attempt).toBe(2);
    const Letters = defineTube<Reminder>('letters', { codec: superjsonCodec });
    const [letter] = (await older.deadLetters.list(Letters)).letters;
    expect(letter).toMatchObject({ why: 'invalid', payload: REMINDER });
    await older.stop();
    const newer = suite.start();
    const seen: unknown[] = [];
    await newer.consumer.consume(Letters, (payload) => void seen.push(payload));
    expect(await newer.deadLetters.revive(letter!)).toBe('revived');
    await eventually('it ran', () => seen.length === 1);
    expect(seen).toEqual([REMINDER]);
  }, 60_000);
});
