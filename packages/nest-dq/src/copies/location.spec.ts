import { describe, expect, it } from '@jest/globals';
import {
  formatLocation,
  formatPlaces,
  hasUnknown,
  isUnknown,
  longestLocation,
  maskOf,
  parseLocation,
  parsePlaces,
  readPlaces,
} from './location.js';

describe('a location', () => {
  it.each([
    ['10.0.0.1:11300', '0123456789abcdef', '17'],
    ['[::1]:11300', '0123456789abcdef', '18446744073709551615'],
    ['embedded', '', '?'],
  ])('is found again: %s %s %s', (endpoint, instance, copyId) => {
    const text = formatLocation(endpoint, instance, copyId);
    expect(text).toBe(`${endpoint}#${instance}:${copyId}`);
    expect(parseLocation(text)).toEqual({ endpoint, instance, copyId });
    expect(isUnknown(text)).toBe(copyId === '?');
    expect(text.length).toBeLessThanOrEqual(longestLocation(endpoint));
  });

  it.each([
    '',
    'a',
    'a#b',
    'a:1',
    '#b:1',
    'a#b:',
    'a#b:x',
    'a#b:1 ',
    'a#b:-1',
    'a#b#c:1',
    'a#b:1:2',
    'a#b:1/0', // an entry in a job, as a later version may write it
    'a#b:??',
    `a#b:${'1'.repeat(21)}`,
  ])('is not %p', (text) => {
    expect(parseLocation(text)).toBeUndefined();
  });

  it('has a length in bytes', () => {
    expect(longestLocation('knötchen:1')).toBe(longestLocation('knoetchen:1'));
  });
});

describe('places', () => {
  const places = [
    { index: 1, location: '10.0.0.1:11300#0123456789abcdef:17' },
    { index: 30, location: '[::1]:11300#0123456789abcdef:18446744073709551615' },
    { index: 0, location: 'knötchen=1:1#:5' },
    { index: 0, location: 'embedded#x:?' },
  ];

  it('are found again as they were written, in their order', () => {
    expect(parsePlaces(formatPlaces(places))).toEqual(places);
    expect(formatPlaces(places.slice(0, 1))).toBe(' 1=10.0.0.1:11300#0123456789abcdef:17');
    expect([formatPlaces([]), parsePlaces('')]).toEqual(['', []]);
  });

  it('are at most as many as a cluster has nodes, and none is longer than a host name allows', () => {
    const many = (count: number, length = 20) =>
      Array.from({ length: count }, () => [30, 'a#b:1'.padEnd(length, '1')]);
    expect(readPlaces(many(100, 300))).toHaveLength(100);
    expect(readPlaces(many(101))).toBeUndefined();
    expect(readPlaces(many(1, 301))).toBeUndefined();
    expect(readPlaces([[31, 'a#b:1']])).toBeUndefined();
  });

  it('leave out what the ledger cannot have written', () => {
    const text = ` 31=a#b:1 1=${'x'.repeat(301)} 99999999999999999999=a#b:1 2=a#b:2${' 3=a#b:3'.repeat(200)}`;
    const found = parsePlaces(text);
    expect(found).toHaveLength(100);
    expect(maskOf(found)).toBe(0b1100);
  });

  it('can be concatenated', () => {
    const [first, ...rest] = places;
    expect(parsePlaces(formatPlaces([first!]) + formatPlaces(rest))).toEqual(places);
  });

  it('have a mask, in which a put without an answer counts too', () => {
    expect(maskOf(places)).toBe((1 << 30) | 0b11);
    expect(maskOf([])).toBe(0);
    expect([hasUnknown(places), hasUnknown(places.slice(0, 3)), hasUnknown([])]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
