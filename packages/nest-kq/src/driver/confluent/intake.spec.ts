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
  intake.take([{ ...PLACE, offset, timestamp: 7, key: null, value: Buffer.from(`v${offset}`), ...over }]);
const values = () => batches.map(({ messages }) => messages.map(({ value }) => String(value)));

describe('Intake', () => {
  it('delivers what was taken by partition, once', () => {
    take(3);
    take(4, OTHER);
    take(5);
    intake.flush();
    intake.flush();
    expect(batches).toMatchObject([
      { ...PLACE, next: 6n, end: 9n, messages: [{ offset: 3n, timestamp: 7, headers: {} }, { offset: 5n }] },
      { ...OTHER, next: 5n },
    ]);
  });

  it('keeps what it has of a partition that is paused, until it is resumed', () => {
    take(3);
    intake.pause(PLACE);
    take(4);
    take(4, OTHER);
    intake.flush();
    expect(values()).toEqual([['v4']]);
    expect(intake.resume(PLACE)).toEqual({ flush: true, held: false });
    expect(intake.resume(PLACE)).toEqual({ flush: false, held: false });
    intake.flush();
    expect(values()).toEqual([['v4'], ['v3', 'v4']]);
  });

  it('has the client pause a partition only once too much of it waits here', () => {
    take(3, { value: Buffer.alloc(900) });
    intake.pause(PLACE);
    take(3, { ...OTHER, value: Buffer.alloc(900) });
    expect(intake.hold(1_000)).toEqual([]);
    take(4, { value: Buffer.alloc(100) });
    expect([intake.hold(1_000), intake.hold(1_000)]).toEqual([[PLACE], []]);
    expect(intake.held).toEqual([PLACE]);
    expect(intake.resume(PLACE)).toEqual({ flush: true, held: true });
    expect(intake.held).toEqual([]);
  });

  it('lets the client continue with a partition whose handler pauses it and resumes it at once', () => {
    take(3, { value: Buffer.alloc(2_000) });
    intake.pause(PLACE);
    intake.resume(PLACE);
    expect(intake.hold(1_000)).toEqual([]);
    intake.flush();
    intake.pause(PLACE);
    expect(intake.hold(1)).toEqual([]); // all was delivered
    expect(intake.resume(PLACE)).toEqual({ flush: false, held: false });
  });

  it('knows of a gap at the end, though the client reports it before the messages', () => {
    intake.takeEnd({ ...PLACE, offset: 8 });
    take(5);
    intake.flush();
    expect(batches).toMatchObject([{ next: 8n, messages: [{ offset: 5n }] }]);
  });

  it('reports a gap at the end once, and no end that is known', () => {
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

  it('leaves out messages of partitions that are not its own', () => {
    const lost = { topic: 'orders', partition: 2 };
    take(3, lost);
    intake.takeEnd({ ...lost, offset: 8 });
    intake.flush();
    intake.pause(lost);
    expect([intake.hold(0), intake.resume(lost), intake.has(lost)]).toEqual([
      [],
      { flush: false, held: false },
      false,
    ]);
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
