import { describe, it } from '@jest/globals';
import fc, { type Arbitrary } from 'fast-check';
import { acts } from './acts.js';
import { compareActs } from './compare.js';
import { LIMIT, runsOf } from './runs.js';
import { compareStreams, streams } from './streams.js';

/** Fails with what the smallest list is answered differently. */
function alike<T>(lists: Arbitrary<T>, compare: (list: T) => Promise<string | undefined>): Promise<void> {
  const property = fc.asyncProperty(lists, async (list) => {
    const difference = await compare(list);
    if (difference !== undefined) throw new Error(difference);
  });
  return fc.assert(property, runsOf(10));
}

describe('the embedded node answers as beanstalkd does', () => {
  it('what clients do to each other', () => alike(fc.noBias(acts), compareActs), LIMIT);

  it('any bytes at all', () => alike(fc.noBias(streams), compareStreams), LIMIT);
});
