import { describe, expect, it } from '@jest/globals';
import { unchecked, unfitness } from './server-check.js';

const info = (over: Record<string, string> = {}) =>
  Object.entries({ redis_version: '7.0.15', maxmemory_policy: 'noeviction', aof_enabled: '1', ...over })
    .map(([name, value]) => `${name}:${value}\r\n`)
    .join('# Section\r\n');

describe('unfitness', () => {
  it('finds nothing wrong with a fit server', () => {
    expect(unfitness(info())).toEqual([]);
  });

  it('finds each setting that loses decisions', () => {
    expect(unfitness(info({ maxmemory_policy: 'allkeys-lru' }))).toEqual([
      expect.stringContaining('maxmemory-policy allkeys-lru'),
    ]);
    expect(unfitness(info({ aof_enabled: '0' }))).toEqual([expect.stringContaining('append-only')]);
  });

  it('finds versions that are too old, by number and not by letter', () => {
    expect(unfitness(info({ redis_version: '6.2.14' }))).toEqual([expect.stringContaining('6.2.14')]);
    expect(unfitness(info({ redis_version: '5.0.14' }))).toEqual([expect.stringContaining('5.0.14')]);
    expect(unfitness(info({ redis_version: '7.0.0' }))).toEqual([]);
    expect(unfitness(info({ redis_version: '10.0.0' }))).toEqual([]);
  });

  it('says nothing about facts that the server does not report', () => {
    expect(unfitness('redis_version:7.2.4\n')).toEqual([]);
  });
});

describe('unchecked', () => {
  it('names what must be checked by hand, and why', () => {
    const message = unchecked(new Error('NOPERM no permission to run info'));
    expect(message).toContain('NOPERM');
    expect(message).toContain('noeviction');
    expect(message).toContain('appendonly');
  });
});
