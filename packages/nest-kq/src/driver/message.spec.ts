import { describe, expect, it } from '@jest/globals';
import { readMessage } from './confluent/intake.js';
import { headersOf, pairsOf } from './message.js';

const bytes = (text: string) => Buffer.from(text);

describe('headers', () => {
  it('have what was given under any name, in its order, and inherit nothing', () => {
    const names = Object.getOwnPropertyNames(Object.prototype);
    const headers = headersOf(
      names.flatMap((name) => [[name, bytes('1')] as const, [name, bytes('2')] as const]),
    );
    expect(Object.keys(headers)).toEqual(names);
    for (const name of names) {
      expect(headers[name]).toEqual([bytes('1'), bytes('2')]);
      expect(headersOf([])[name]).toBeUndefined();
    }
    expect(headersOf(pairsOf(headers))).toEqual(headers);
  });

  it('read a missing value as an empty one', () => {
    expect(headersOf([['h', null]])).toEqual({ h: bytes('') });
  });
});

describe("a message of Confluent's client", () => {
  /** As it makes them: it sets a property of a new object. */
  const pair = (name: string, value: Buffer | string | null) => {
    const made: Record<string, Buffer | string | null> = {};
    made[name] = value;
    return made;
  };
  const read = (...headers: readonly Readonly<Record<string, Buffer | string | null>>[]) =>
    readMessage({ topic: 't', partition: 0, offset: 3, timestamp: 5, key: null, value: null, headers })
      .headers;

  it.each(Object.getOwnPropertyNames(Object.prototype))('has the header %s', (name) => {
    const headers = read(pair(name, bytes('1')), pair('other', bytes('o')), pair(name, bytes('2')));
    expect(Object.entries(headers)).toEqual([
      [name, [bytes('1'), bytes('2')]],
      ['other', bytes('o')],
    ]);
  });

  it('has values that are missing or texts as bytes', () => {
    expect(read(pair('a', null), pair('b', 'text'))).toEqual({ a: bytes(''), b: bytes('text') });
  });
});
