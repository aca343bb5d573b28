import { describe, expect, it } from '@jest/globals';
import { disturbance, machineTimes, readDisk, readProcessors } from './disturbance.js';

describe('readProcessors', () => {
  it('sums what all processors did, with what a guest used counted once, and tells what was stolen', () => {
    const stat = 'cpu  100 2 30 4000 5 6 7 80 99 1\ncpu0 50 1 15 2000 2 3 3 40 50 0\n';
    expect(readProcessors(stat)).toEqual({ processors: 100 + 2 + 30 + 4000 + 5 + 6 + 7 + 80, stolen: 80 });
  });
});

describe('readDisk', () => {
  it('gives the milliseconds in which all that was to do waited', () => {
    const pressure =
      'some avg10=16.32 avg60=6.86 avg300=4.33 total=95014210\nfull avg10=16.12 avg60=6.68 avg300=3.64 total=78164025\n';
    expect(readDisk(pressure)).toBe(78_164.025);
  });

  it('is unknown where the kernel does not tell', () => {
    expect(readDisk('')).toBeUndefined();
  });
});

describe('disturbance', () => {
  const before = { at: 1_000, processors: 200, stolen: 10, disk: 500 };

  it('is what the time between two looks was like', () => {
    const after = { at: 3_000, processors: 600, stolen: 12, disk: 600 };
    expect(disturbance(before, after)).toEqual({ took: 2, stolen: 0.5, disk: 5 });
  });

  it('says nothing of a disk that is unknown', () => {
    const after = { at: 3_000, processors: 600, stolen: 12, disk: undefined };
    expect(disturbance({ ...before, disk: undefined }, after)).toEqual({ took: 2, stolen: 0.5 });
  });
});

describe('machineTimes', () => {
  it('reads what this machine says of itself', async () => {
    const { processors, stolen } = await machineTimes();
    expect(processors).toBeGreaterThan(0);
    expect(stolen).toBeGreaterThanOrEqual(0);
  });
});
