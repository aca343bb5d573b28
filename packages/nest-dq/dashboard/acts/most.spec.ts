import { describe, expect, it } from '@jest/globals';
import type { BulkAct } from '../server/requests.js';
import { readMost, withMost } from './most.js';

describe('withMost', () => {
  it('limits an act with a filter, and changes nothing else of it', () => {
    const act: BulkAct = { name: 'revokeMany', body: { tube: 'mail', filter: { state: 'waiting' } } };
    expect(withMost(act, 7)).toEqual({
      name: 'revokeMany',
      body: { tube: 'mail', filter: { state: 'waiting', limit: 7 } },
    });
    expect(withMost(act, undefined)).toBe(act);
  });

  it('leaves a repair as it is, since it has no limit', () => {
    const repair: BulkAct = { name: 'repair', body: { tube: 'mail' } };
    expect(withMost(repair, 7)).toBe(repair);
  });
});

describe('readMost', () => {
  it('reads whole numbers from 1, and an empty field as no limit', () => {
    expect(['', ' ', '1', ' 20 '].map(readMost)).toEqual([undefined, undefined, 1, 20]);
    expect(['0', '-1', '1.5', 'x', '1e999'].map(readMost)).toEqual([NaN, NaN, NaN, NaN, NaN]);
  });
});
