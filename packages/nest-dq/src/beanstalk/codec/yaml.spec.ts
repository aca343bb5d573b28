import { describe, expect, it } from '@jest/globals';
import { parseNames, parseStats } from './yaml.js';

describe('parseStats', () => {
  it('reads bare and quoted strings alike and keeps every value a string', () => {
    const bare =
      '---\nid: 18446744073709551615\nname: default\nversion: 1.12\nos: #1 SMP: x\ndraining: false\n';
    const quoted =
      '---\nid: 18446744073709551615\nname: "default"\nversion: "1.12"\nos: "#1 SMP: x"\ndraining: false\n';
    const stats = {
      id: '18446744073709551615',
      name: 'default',
      version: '1.12',
      os: '#1 SMP: x',
      draining: 'false',
    };
    expect(parseStats(Buffer.from(bare))).toEqual(stats);
    expect(parseStats(Buffer.from(quoted))).toEqual(stats);
  });

  it('keeps an instance id that looks like a number', () => {
    expect(parseStats(Buffer.from('---\nid: 1234567890e12345\n'))).toEqual({ id: '1234567890e12345' });
  });

  it.each(['', 'id: 1\n', '---\n- a\n', '---\nno colon\n'])('does not take %j', (text) => {
    expect(parseStats(Buffer.from(text))).toBeUndefined();
  });

  it('takes a name that objects have for any other', () => {
    const stats = parseStats(Buffer.from('---\n__proto__: 1\nconstructor: 2\n'));
    expect(Object.entries(stats ?? {})).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
    ]);
    expect(stats?.['toString']).toBeUndefined();
  });

  it('takes none that is longer than 64 KiB', () => {
    const stats = (length: number) => Buffer.from('---\na: '.padEnd(length, 'x'));
    expect(parseStats(stats(65_536))).toBeDefined();
    expect(parseStats(stats(65_537))).toBeUndefined();
  });
});

describe('parseNames', () => {
  it('reads bare and quoted names, and an empty list', () => {
    expect(parseNames(Buffer.from('---\n- default\n- "order.cancel"\n'))).toEqual([
      'default',
      'order.cancel',
    ]);
    expect(parseNames(Buffer.from('---\n'))).toEqual([]);
  });

  it('takes none that is longer than 4 MiB', () => {
    const list = (lines: number) => Buffer.from(`---\n${'- a\n'.repeat(lines)}`);
    expect(parseNames(list(2 ** 20 - 1))).toHaveLength(2 ** 20 - 1);
    expect(parseNames(list(2 ** 20))).toBeUndefined();
  });

  it.each(['', '- a\n', '---\nname: a\n', '---\n- a b\n', '---\n- a\x1b[2J\n', '---\n- \n'])(
    'does not take %j',
    (text) => {
      expect(parseNames(Buffer.from(text))).toBeUndefined();
    },
  );
});
