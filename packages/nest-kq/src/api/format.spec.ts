import { describe, expect, it } from '@jest/globals';
import { decodeValue, encodeValue, type Format } from './format.js';

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
    expect(String(encodeValue(format, value))).toBe(stored);
    expect(decodeValue(format, encodeValue(format, value))).toEqual(value);
  });

  it.each<Format>(['json', 'text', 'bytes'])('store null as a tombstone in %s', (format) => {
    expect(encodeValue(format, null)).toBeNull();
    expect(decodeValue(format, null)).toBeNull();
  });

  it('keep bytes of their own', () => {
    const given = new Uint8Array([1]);
    const stored = encodeValue('bytes', given);
    given[0] = 2;
    expect(stored).toEqual(Buffer.from([1]));
  });

  it('say what JSON makes of a value', () => {
    const at = new Date(0);
    expect(decodeValue('json', encodeValue('json', { at }))).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  it.each<[Format, unknown, RegExp]>([
    ['json', undefined, /^KQ_BAD_MESSAGE: the value is undefined: expected a value; for a tombstone.* null$/],
    ['text', undefined, /undefined/],
    ['bytes', undefined, /undefined/],
    ['json', 5n, /is 5n: expected what JSON can hold/],
    ['json', { items: [{ at: NaN }] }, /the value\.items\[0\]\.at is NaN: expected a finite number/],
    ['json', { roles: new Set() }, /the value\.roles is a Set: expected what JSON can hold/],
    ['json', [Promise.resolve(1)], /the value\[0\] is a Promise: .*is an await missing\?/],
    ['json', () => 5, /is function \(anonymous\): expected what JSON can hold/],
    ['json', Symbol('x'), /is Symbol\(x\): expected what JSON can hold/],
    ['json', Promise.resolve(5), /is a Promise: .*is an await missing\?/],
    ['json', Buffer.from('a'), /is <Buffer 61>: expected .*format: 'bytes'/],
    ['text', 5, /is 5: expected a string, as the topic's format is 'text'/],
    ['text', 'a\uD83D', /half a character/],
    ['bytes', 'a', /is 'a': expected a Buffer, as the topic's format is 'bytes'/],
  ])('refuse to store as %s %p', (format, value, why) => {
    const encode = () => encodeValue(format, value);
    expect(encode).toThrow(expect.objectContaining({ code: 'KQ_BAD_MESSAGE' }));
    expect(encode).toThrow(why);
  });

  it.each<[Format, Buffer, RegExp]>([
    ['json', Buffer.from('{"a":'), /^KQ_BAD_MESSAGE: the stored value is '\{"a":': expected JSON$/],
    ['json', Buffer.alloc(0), /is '': expected JSON/],
    ['json', Buffer.from([0xff]), /is <Buffer ff>: expected UTF-8/],
    ['text', Buffer.from([0x61, 0xc3]), /is <Buffer 61 c3>: expected UTF-8/],
  ])('refuse to read as %s %p', (format, stored, why) => {
    expect(() => decodeValue(format, stored)).toThrow(why);
  });
});
