import { describe, expect, it } from '@jest/globals';
import { zh } from './chinese.js';
import { chooseLanguage, en, fill } from './words.js';

describe('the catalogue', () => {
  it('has each text in both languages', () => {
    expect(Object.keys(zh).toSorted(byName)).toEqual(Object.keys(en).toSorted(byName));
    for (const text of [...Object.values(en), ...Object.values(zh)]) expect(text.trim()).not.toBe('');
  });

  it('has the same places for values in both languages', () => {
    const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).toSorted(byName);
    for (const key of Object.keys(en) as (keyof typeof en)[])
      expect([key, places(zh[key])]).toEqual([key, places(en[key])]);
  });

  it('says what to do for one tube and for several in the same words', () => {
    const ofTubes = Object.entries(en).filter(([key]) => /^(todo|problem\.tube)\./.test(key));
    expect(ofTubes.length).toBeGreaterThan(10);
    for (const [, text] of ofTubes) expect(text).not.toMatch(/\b(its?|this tube|jobs wait)\b/i);
  });
});

describe('fill', () => {
  it('puts values in their places, and shows a place without a value', () => {
    expect(fill('{a} of {b}, {a}', { a: 1, b: '$&' })).toBe('1 of $&, 1');
    expect(fill('{a} of {b}', { a: 1 })).toBe('1 of {b}');
  });

  it('keeps a value that is read from right to left by itself', () => {
    expect(fill('{key}: 5 runs', { key: 'הזמנה-42' })).toBe('\u2068הזמנה-42\u2069: 5 runs');
  });
});

describe('chooseLanguage', () => {
  it('takes the first language that the catalogue has, whatever the region', () => {
    expect(chooseLanguage(['de-DE', 'zh-Hant-TW', 'en'])).toBe('zh');
    expect(chooseLanguage(['', 'EN-gb', 'zh'])).toBe('en');
    expect(chooseLanguage(['de', 'fr'])).toBe('en');
  });
});

function byName(a: string, b: string): number {
  return a < b ? -1 : 1;
}
