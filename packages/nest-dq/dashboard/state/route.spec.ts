import { describe, expect, it } from '@jest/globals';
import { jobIn } from './job-address.js';
import { hashOf, parseHash } from './route.js';

describe('an address', () => {
  it('gives back the path and the query that it was made from', () => {
    const path = ['tubes', 'a/b?c#d %;$'];
    const query = { key: 'ä&b=c+d', empty: '' };
    expect(parseHash(hashOf(path, { ...query, absent: undefined }))).toEqual({ path, query });
  });

  it('is the first page if it is empty or broken', () => {
    for (const hash of ['', '#', '#/', '#/%E0%A4%A'])
      expect(parseHash(hash)).toEqual({ path: [], query: {} });
  });
});

describe('jobIn', () => {
  it('takes a ref, or a tube with an id or a key', () => {
    expect(jobIn({ ref: 'dq1.x', tube: 't' })).toEqual({ ref: 'dq1.x' });
    expect(jobIn({ tube: 't', id: 'i' })).toEqual({ tube: 't', id: 'i' });
    expect(jobIn({ tube: 't', key: 'k' })).toEqual({ tube: 't', key: 'k' });
    const incomplete: Record<string, string>[] = [{}, { tube: 't' }, { id: 'i' }];
    for (const query of incomplete) expect(jobIn(query)).toBeUndefined();
  });
});
