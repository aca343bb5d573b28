import { describe, expect, it } from '@jest/globals';
import { formatLocation, isUnknown, longestLocation, parseLocation } from './location.js';

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
    'a#b#c:1:2',
    'a#b:??',
    `a#b:${'1'.repeat(21)}`,
  ])('is not %p', (text) => {
    expect(parseLocation(text)).toBeUndefined();
  });

  it('has a length in bytes', () => {
    expect(longestLocation('knötchen:1')).toBe(longestLocation('knoetchen:1'));
  });
});
