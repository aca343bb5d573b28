import { describe, expect, it } from '@jest/globals';
import { parseNames, parseStats } from './yaml.js';

describe('parseStats', () => {
  it('reads bare and quoted strings alike and keeps every value a text', () => {
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
});

describe('parseNames', () => {
  it('reads bare and quoted names, and an empty list', () => {
    expect(parseNames(Buffer.from('---\n- default\n- "order.cancel"\n'))).toEqual([
      'default',
      'order.cancel',
    ]);
    expect(parseNames(Buffer.from('---\n'))).toEqual([]);
  });

  it.each(['', '- a\n', '---\nname: a\n'])('does not take %j', (text) => {
    expect(parseNames(Buffer.from(text))).toBeUndefined();
  });
});
