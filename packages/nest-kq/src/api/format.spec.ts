import { describe, expect, it } from '@jest/globals';
import { KqError } from '../errors.js';
import { decodeValue, encodeValue, type Format, type ValueFormat } from './format.js';

describe('encodeValue and decodeValue', () => {
  it.each<[Format, unknown, string]>([
    ['json', { a: [1, 'ä', null] }, '{"a":[1,"ä",null]}'],
    ['json', 'text', '"text"'],
    ['json', false, 'false'],
    ['text', 'grün 🙂', 'grün 🙂'],
    ['text', '', ''],
    ['text', '\uFEFFx', '\uFEFFx'],
    ['bytes', Buffer.from('ab'), 'ab'],
  ])('store as %s %p, and give it back', (format, value, stored) => {
    expect(encodeValue(format, value, 'days')).toEqual(Buffer.from(stored));
    expect(decodeValue(format, encodeValue(format, value, 'days') as Buffer, 'days')).toEqual(value);
  });

  it.each<Format>(['json', 'text', 'bytes'])('store null as a tombstone in %s', (format) => {
    expect(encodeValue(format, null, 'days')).toBeNull();
    expect(decodeValue(format, null, 'days')).toBeNull();
  });

  it('keep bytes of their own', () => {
    const given = new Uint8Array([1]);
    const stored = encodeValue('bytes', given, 'days');
    given[0] = 2;
    expect(stored).toEqual(Buffer.from([1]));
  });

  it('show the value after a round trip through JSON', () => {
    const at = new Date(0);
    expect(decodeValue('json', encodeValue('json', { at }, 'days') as Buffer, 'days')).toEqual({
      at: '1970-01-01T00:00:00.000Z',
    });
  });

  it.each<[Format, unknown, RegExp]>([
    ['json', undefined, /^KQ_BAD_MESSAGE: the value is undefined: expected a value, or null for a tombstone/],
    ['text', undefined, /undefined/],
    ['bytes', undefined, /undefined/],
    ['json', 5n, /is 5n: expected a JSON value/],
    ['json', { items: [{ at: NaN }] }, /the value\.items\[0\]\.at is NaN: expected a finite number/],
    ['json', { roles: new Set() }, /the value\.roles is a Set: expected a JSON value/],
    ['json', [Promise.resolve(1)], /the value\[0\] is a Promise: .*is an await missing\?/],
    ['json', () => 5, /is function \(anonymous\): expected a JSON value/],
    ['json', Symbol('x'), /is Symbol\(x\): expected a JSON value/],
    ['json', Promise.resolve(5), /is a Promise: .*is an await missing\?/],
    ['json', Buffer.from('a'), /is <Buffer 61>: expected .*format: 'bytes'/],
    ['text', 5, /is 5: expected a string, since the topic's format is 'text'/],
    ['text', 'a\uD83D', /half a character/],
    ['bytes', 'a', /is 'a': expected a Buffer, since the topic's format is 'bytes'/],
  ])('refuse to store as %s %p', (format, value, why) => {
    const encode = () => encodeValue(format, value, 'days');
    expect(encode).toThrow(expect.objectContaining({ code: 'KQ_BAD_MESSAGE' }));
    expect(encode).toThrow(why);
  });

  it.each<[Format, Buffer, RegExp]>([
    ['json', Buffer.from('{"a":'), /^KQ_BAD_MESSAGE: the stored value is '\{"a":': expected JSON$/],
    ['json', Buffer.alloc(0), /is '': expected JSON/],
    ['json', Buffer.from([0xff]), /is <Buffer ff>: expected UTF-8/],
    ['text', Buffer.from([0x61, 0xc3]), /is <Buffer 61 c3>: expected UTF-8/],
  ])('refuse to read as %s %p', (format, stored, why) => {
    expect(() => decodeValue(format, stored, 'days')).toThrow(why);
  });
});

describe('a format of your own', () => {
  const upper: ValueFormat<string> = {
    name: 'upper',
    encode: (value) => Buffer.from(value.toUpperCase()),
    decode: (stored, topic) => `${stored.toString()} of ${topic}`,
  };
  const later: ValueFormat<string> = {
    name: 'later',
    encode: async (value, topic) => upper.encode(value, topic),
    decode: async (stored, topic) => upper.decode(stored, topic) as string,
  };
  const failing = (thrown: unknown): ValueFormat => {
    const fail = () => {
      throw thrown;
    };
    return { name: 'failing', encode: fail, decode: fail };
  };
  const away = new KqError('KQ_REGISTRY', 'away');

  it('answers at once or later, and has the name of the topic', async () => {
    expect(encodeValue(upper, 'a', 'days')).toEqual(Buffer.from('A'));
    expect(decodeValue(upper, Buffer.from('A'), 'days')).toBe('A of days');
    await expect(encodeValue(later, 'a', 'days')).resolves.toEqual(Buffer.from('A'));
    await expect(decodeValue(later, Buffer.from('A'), 'days')).resolves.toBe('A of days');
  });

  it('gets no tombstone', () => {
    expect(encodeValue(failing(away), null, 'days')).toBeNull();
    expect(decodeValue(failing(away), null, 'days')).toBeNull();
  });

  it('refuses what it throws, and says so where nobody can be asked now', () => {
    const slip = failing(new RangeError('index out of range'));
    expect(() => decodeValue(slip, Buffer.from('A'), 'days')).toThrow(
      "KQ_BAD_MESSAGE: the format 'failing' cannot decode a value of 'days': index out of range",
    );
    expect(() => encodeValue(slip, 'a', 'days')).toThrow(
      "KQ_BAD_MESSAGE: the format 'failing' cannot encode a value of 'days': index out of range",
    );
    expect(() => decodeValue(failing(away), Buffer.from('A'), 'days')).toThrow(away);
  });

  it('has to return bytes', () => {
    const wrong = { ...upper, encode: () => 'A' } as unknown as ValueFormat;
    expect(() => encodeValue(wrong, 'a', 'days')).toThrow(
      "KQ_BAD_MESSAGE: the result of encode in the format 'upper' is 'A': expected a Buffer",
    );
  });
});
