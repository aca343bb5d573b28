import { describe, expect, it } from '@jest/globals';
import { payloadOf } from './payload.js';
import { RunCount } from './run-count.js';

describe('RunCount', () => {
  it('is done when every job has run, in any order', async () => {
    const runs = new RunCount(2);
    runs.add(payloadOf(1));
    expect(runs.count).toBe(1);
    runs.add(payloadOf(0));
    await runs.done;
    expect(runs.lastAt).toBeGreaterThan(0);
  });

  it('fails when a job runs twice', async () => {
    const runs = new RunCount(2);
    runs.add(payloadOf(1));
    runs.add(payloadOf(1));
    await expect(runs.done).rejects.toThrow('job 1 of 2 ran a second time');
  });
});
