import { beforeEach, describe, expect, it } from '@jest/globals';
import type { LogBatch, MemberHandler } from '../driver.js';
import { Intake } from './intake.js';

const PLACE = { topic: 'orders', partition: 0 };
const OTHER = { topic: 'orders', partition: 1 };

let batches: LogBatch[];
let end: bigint;
let intake: Intake;
beforeEach(() => {
  batches = [];
  end = 9n;
  const handler = { batch: (batch: LogBatch) => void batches.push(batch) } as MemberHandler;
  const places = [PLACE, OTHER].map((place) => ({ ...place, offset: 3n }));
  intake = new Intake(places, handler, () => end);
});

const take = (offset: number, over: object = {}) =>
  intake.take({ ...PLACE, offset, timestamp: 7, key: null, value: Buffer.from(`v${offset}`), ...over });
const values = () => batches.map(({ messages }) => messages.map(({ value }) => String(value)));

describe('Intake', () => {
  it('delivers what was taken by partition, once', () => {
    take(3);
    take(0, OTHER);
    take(5);
    intake.flush();
    intake.flush();
    expect(batches).toMatchObject([
      { ...PLACE, next: 6n, end: 9n, messages: [{ offset: 3n, timestamp: 7, headers: {} }, { offset: 5n }] },
      { ...OTHER, next: 1n },
    ]);
  });

  it('keeps what it has of a partition that is paused, until it is resumed', () => {
    take(3);
    expect([intake.pause(PLACE), intake.pause(PLACE)]).toEqual([true, false]);
    expect(intake.paused).toEqual([PLACE]);
    take(4);
    take(4, OTHER);
    intake.flush();
    expect(values()).toEqual([['v4']]);
    expect([intake.resume(PLACE), intake.resume(PLACE)]).toEqual([true, false]);
    intake.flush();
    expect(values()).toEqual([['v4'], ['v3', 'v4']]);
  });

  it('tells a gap at the end once, and no end that is known', () => {
    intake.takeEnd({ ...PLACE, offset: 3 });
    intake.flush();
    expect(batches).toEqual([]);
    end = 2n; // what the client knows may be old
    intake.takeEnd({ ...PLACE, offset: 5 });
    intake.flush();
    intake.takeEnd({ ...PLACE, offset: 5 });
    intake.flush();
    expect(batches).toEqual([{ ...PLACE, messages: [], next: 5n, end: 5n }]);
  });

  it('leaves out what is of no partition of its own', () => {
    const lost = { topic: 'orders', partition: 2 };
    take(3, lost);
    intake.takeEnd({ ...lost, offset: 8 });
    intake.flush();
    expect([intake.pause(lost), intake.resume(lost), intake.has(lost)]).toEqual([false, false, false]);
    expect(batches).toEqual([]);
  });

  it('gives a header with several values their list', () => {
    const headers = [{ a: Buffer.from('1') }, { b: null }, { a: 'x' }];
    take(3, { headers });
    intake.flush();
    expect(batches[0]?.messages[0]?.headers).toEqual({
      a: [Buffer.from('1'), Buffer.from('x')],
      b: Buffer.alloc(0),
    });
  });
});
