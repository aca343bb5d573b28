import { describe, expect, it } from '@jest/globals';
import {
  disturbance,
  machineTimes,
  readDisk,
  readProcessors,
  timesSince,
  totalDisturbance,
  totalTimes,
} from './disturbance.js';

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
  const times = { at: 2_000, processors: 400, stolen: 2, disk: 100 };

  it('is what the counters say of the time in which they counted', () => {
    expect(disturbance(times)).toEqual({ took: 2, stolen: 0.5, disk: 5 });
  });

  it('says nothing of a disk that is unknown', () => {
    expect(disturbance({ ...times, disk: undefined })).toEqual({ took: 2, stolen: 0.5 });
  });

  it('is none in no time', () => {
    expect(disturbance(totalTimes([]))).toEqual({ took: 0, stolen: 0, disk: 0 });
  });
});

describe('totalTimes', () => {
  const times = { at: 1_000, processors: 200, stolen: 10, disk: 500 };

  it('sums each counter', () => {
    const other = { at: 3_000, processors: 600, stolen: 12, disk: 600 };
    expect(totalTimes([times, other])).toEqual({ at: 4_000, processors: 800, stolen: 22, disk: 1_100 });
  });

  it('does not know the disk where it is unknown once', () => {
    expect(totalTimes([times, { ...times, disk: undefined }])).toMatchObject({ at: 2_000, disk: undefined });
  });
});

describe('totalDisturbance', () => {
  it('counts a disturbance by how long it was', () => {
    const all = [
      { took: 30, stolen: 1, disk: 4 },
      { took: 10, stolen: 5, disk: 0 },
    ];
    expect(totalDisturbance(all)).toEqual({ took: 40, stolen: 2, disk: 3 });
  });

  it('does not know the disk where it is unknown once', () => {
    expect(
      totalDisturbance([
        { took: 1, stolen: 1 },
        { took: 1, stolen: 1, disk: 1 },
      ]),
    ).toEqual({
      took: 2,
      stolen: 1,
    });
  });
});

describe('machineTimes', () => {
  it('reads what this machine says of itself', async () => {
    const { processors, stolen } = await machineTimes();
    expect(processors).toBeGreaterThan(0);
    expect(stolen).toBeGreaterThanOrEqual(0);
  });

  it('counts from a look on', async () => {
    const before = await machineTimes();
    const spent = await timesSince(before);
    expect(spent.at).toBeGreaterThan(0);
    expect(spent.at).toBeLessThan(before.at + spent.at);
    expect(spent.processors).toBeGreaterThanOrEqual(0);
  });
});
