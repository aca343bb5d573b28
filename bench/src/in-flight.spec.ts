import { describe, expect, it } from '@jest/globals';
import { inFlight } from './in-flight.js';

describe('inFlight', () => {
  it('runs each item once, as many at a time as it may', async () => {
    const seen: number[] = [];
    let now = 0;
    let most = 0;
    await inFlight(
      [1, 2, 3, 4, 5],
      async (item) => {
        seen.push(item);
        most = Math.max(most, ++now);
        await Promise.resolve();
        now--;
      },
      2,
    );
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(2);
  });

  it('fails with what fails', async () => {
    await expect(inFlight([1], () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  });
});
