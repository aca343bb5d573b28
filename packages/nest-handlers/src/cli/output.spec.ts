import { describe, expect, it } from '@jest/globals';
import { bytes, counted, distance, facts, grouped, span, table } from './output.js';

describe('what people read', () => {
  it('is a table with numbers at the right', () => {
    const rows = [
      ['a', 1, 'x'],
      ['long name', 12_345, ''],
    ];
    expect(table(['NAME', 'N', 'WORD'], rows)).toBe(
      'NAME            N  WORD\na               1  x\nlong name  12,345',
    );
  });

  it('has no terminal control characters, whatever a server says', () => {
    const text = '1.12\x1b[2J\nROOT';
    expect(table(['VERSION'], [[text]])).toBe('VERSION\n1.12\\u001b[2J\\u000aROOT');
    expect(facts({ version: text })).toBe('version  1.12\\u001b[2J\\u000aROOT');
  });

  it('is a list of facts, without those that are unknown', () => {
    expect(facts({ id: '1', key: undefined, state: 'done' })).toBe('id     1\nstate  done');
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_500, '1 s'],
    [90_000, '1 min 30 s'],
    [3_600_000, '1 h'],
    [2 * 86_400_000 + 5 * 3_600_000 + 60_000, '2 d 5 h'],
  ])('is a length of time: %d ms as %s', (ms, text) => expect(span(ms)).toBe(text));

  it('is a distance from now', () => {
    expect([distance(90_000), distance(-90_000), distance(500)]).toEqual([
      'in 1 min 30 s',
      '1 min 30 s ago',
      'now',
    ]);
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
