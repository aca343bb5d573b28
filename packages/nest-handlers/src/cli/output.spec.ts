import { describe, expect, it } from '@jest/globals';
import { bytes, counted, distance, facts, span } from './output.js';
import { grouped } from './text.js';

describe('what people read', () => {
  it('is a list of facts, without those that are unknown, with lines below each other', () => {
    expect(facts({ id: '1', key: undefined, state: 'done', error: ['Error: x', '    at y'] })).toEqual([
      'id     1',
      'state  done',
      'error  Error: x',
      '           at y',
    ]);
  });

  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_500, '1s'],
    [90_000, '1m 30s'],
    [3_600_000, '1h'],
    [2 * 86_400_000 + 5 * 3_600_000 + 60_000, '2d 5h'],
  ])('is a length of time: %d ms as %s', (ms, text) => expect(span(ms)).toBe(text));

  it('is a distance from now', () => {
    expect([distance(90_000), distance(-90_000), distance(500)]).toEqual(['in 1m 30s', '1m 30s ago', 'now']);
  });

  it('is a number with its noun', () => {
    expect([counted(1, 'job'), counted(12_412, 'job'), counted(2, 'copy', 'copies')]).toEqual([
      '1 job',
      '12,412 jobs',
      '2 copies',
    ]);
    expect([0, 999, 1_000, 1_234_567].map(grouped)).toEqual(['0', '999', '1,000', '1,234,567']);
  });

  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_400, '1.4 kB'],
    [235_000_000, '235 MB'],
    [1.5e13, '15.0 TB'],
  ])('is a size: %d as %s', (count, text) => expect(bytes(count)).toBe(text));
});
