import { describe, expect, it } from '@jest/globals';
import { bytesText, durationText, shortText, wholeText } from './numbers.js';

describe('durationText', () => {
  it('has the two largest units, rounded down', () => {
    const second = 1_000;
    expect(durationText(0, 'en')).toBe('0ms');
    expect(durationText(850, 'en')).toBe('850ms');
    expect(durationText(59.9 * second, 'en')).toBe('59s');
    expect(durationText(60 * second, 'en')).toBe('1m');
    expect(durationText(754 * second, 'en')).toBe('12m 34s');
    expect(durationText((2 * 24 + 3.9) * 3_600 * second, 'en')).toBe('2d 3h');
    expect(durationText(754 * second, 'zh')).toBe('12分钟 34秒');
  });
});

describe('bytesText', () => {
  it('has the largest unit that leaves at least one', () => {
    expect(bytesText(0, 'en')).toBe('0\u00a0B');
    expect(bytesText(1_023, 'en')).toBe('1,023\u00a0B');
    expect(bytesText(1_024, 'en')).toBe('1\u00a0KiB');
    expect(bytesText(123_456_789, 'en')).toBe('117.7\u00a0MiB');
    expect(bytesText(2 ** 60, 'en')).toBe('1,048,576\u00a0TiB');
  });
});

describe('wholeText and shortText', () => {
  it('separate and shorten', () => {
    expect(wholeText(1_234_567.4, 'en')).toBe('1,234,567');
    expect(shortText(182_340, 'en')).toBe('182.3K');
    expect(shortText(200, 'en')).toBe('200');
  });
});
