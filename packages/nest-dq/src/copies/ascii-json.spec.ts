import { describe, expect, it } from '@jest/globals';
import { asciiJson } from './location.js';

describe('asciiJson', () => {
  it.each([
    '',
    'host:11300#0123456789abcdef:7',
    'a "quoted" word',
    'back\\slash',
    'line\nfeed, \u0000 and \u007f',
    'Zürich 🚀',
    '\ud800 alone',
  ])('writes %j in ASCII, readable by any JSON parser', (text) => {
    const json = asciiJson(text);
    expect(JSON.parse(json)).toBe(text);
    expect(json).toMatch(/^[\0-\x7f]*$/);
  });

  it('writes values that are not strings as JSON does', () => {
    expect(asciiJson({ ö: [1, true, null] })).toBe('{"\\u00f6":[1,true,null]}');
  });
});
