import { describe, expect, it } from '@jest/globals';
import { failure, embedded } from '../../spec-support/producing.js';
import { dated, datedLater, schemaBy } from '../../spec-support/schemas.js';
import { defineTube } from '../api/tube.js';

const Dated = defineTube('t', { schema: schemaBy(dated) });
const DatedLater = defineTube('t', { schema: schemaBy(datedLater) });
const at = new Date(Date.UTC(2031, 0, 1));
const STORED = JSON.stringify({ at });

describe.each([
  ['a schema that answers at once', Dated],
  ['a schema that answers later', DatedLater],
])('an add to a tube with %s', (_which, Tube) => {
  it('stores the JSON of what was given, not what the schema returns', async () => {
    const { producer, payloads } = await embedded();
    await producer.delay(Tube, { at }, '1h');
    expect(new Set(await payloads())).toEqual(new Set([STORED]));
  });

  it('refuses what its handler could not read, and stores nothing', async () => {
    const { clock, producer, payloads } = await embedded();
    const wrong = { at: 5 };
    const refused = {
      code: 'DQ_BAD_PAYLOAD',
      message: 'DQ_BAD_PAYLOAD: the schema of "t" rejects the payload: at: expected a text',
      issues: [{ message: 'expected a text', path: ['at'] }],
    };
    expect(await failure(producer.now(Tube, wrong))).toMatchObject(refused);
    expect(await failure(producer.delay(Tube, wrong, '1m'))).toMatchObject(refused);
    expect(await failure(producer.at(Tube, wrong, clock.wall() + 5_000, { key: 'k' }))).toMatchObject(
      refused,
    );
    const all = [{ payload: wrong }, { payload: { at } }];
    const delayed = await producer.addMany(
      Tube,
      all.map((job) => ({ ...job, delay: 1_000 })),
      { results: true },
    );
    const timed = await producer.addMany(
      Tube,
      all.map((job) => ({ ...job, at: clock.wall() + 1_000 })),
      { results: true },
    );
    for (const [bad, good] of [delayed, timed]) {
      expect(bad!.error).toMatchObject(refused);
      expect(good!.receipt).toMatchObject({ tube: 't' });
    }
    expect(new Set(await payloads())).toEqual(new Set([STORED]));
  });

  it('counts its delay from the call, and takes one that is added right after', async () => {
    const { clock, producer } = await embedded();
    const receipts = await Promise.all([
      producer.delay(Tube, { at }, 5_000),
      producer.delay(Tube, { at }, 5_000),
    ]);
    expect(receipts.map(({ dueAt }) => dueAt.getTime() - clock.wall())).toEqual([5_000, 5_000]);
  });

  it('runs last, since its error would be lost where a hook or a header is wrong', async () => {
    const { process } = await embedded();
    let asked = 0;
    const Counted = defineTube('t', {
      schema: schemaBy((value) => {
        asked++;
        return Tube === Dated ? dated(value) : datedLater(value);
      }),
    });
    const broken = new Error('no context');
    const throwing = process({
      onSchedule: () => {
        throw broken;
      },
    });
    const wrong = { at: 5 };
    expect(await failure(throwing.producer.now(Counted, wrong))).toMatchObject({
      code: 'DQ_BAD_OPTION',
      cause: broken,
    });
    const adding = process({ onSchedule: (headers) => void Object.assign(headers, { tenant: 7 }) });
    expect(await failure(adding.producer.now(Counted, wrong))).toMatchObject({ code: 'DQ_BAD_OPTION' });
    expect(asked).toBe(0);
    expect(await failure(process().producer.now(Counted, wrong))).toMatchObject({ code: 'DQ_BAD_PAYLOAD' });
    expect(asked).toBe(1);
  });

  it('checks the payload of a reschedule by key', async () => {
    const { producer, payloads } = await embedded();
    await producer.delay(Tube, { at }, '1h', { key: 'k' });
    const ref = { tube: Tube, key: 'k' };
    expect(await failure(producer.reschedule(ref, { delay: 1 }, { payload: {} }))).toMatchObject({
      code: 'DQ_BAD_PAYLOAD',
    });
    expect(new Set(await payloads())).toEqual(new Set([STORED]));
    expect(await producer.reschedule(ref, { delay: 1 })).toBe('rescheduled');
  });
});

it.each([
  [
    'throws',
    () => {
      throw new Error('slip');
    },
  ],
  ['rejects', () => Promise.reject(new Error('slip'))],
])('a schema that %s makes a bad payload, with its error as the cause', async (_how, validate) => {
  const { producer } = await embedded();
  const failed = await failure(producer.now(defineTube('t', { schema: schemaBy(validate) }), {}));
  expect(failed).toMatchObject({
    code: 'DQ_BAD_PAYLOAD',
    message: 'DQ_BAD_PAYLOAD: the schema of "t" failed: slip',
    cause: { message: 'slip' },
  });
});
