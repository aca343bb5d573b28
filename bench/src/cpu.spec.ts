import { describe, expect, it } from '@jest/globals';
import { machineCpuTime, readMachineTime } from './cpu.js';

describe('readMachineTime', () => {
  it('sums what all processors did, with what a guest used counted once, and tells what was stolen', () => {
    const stat = 'cpu  100 2 30 4000 5 6 7 80 99 1\ncpu0 50 1 15 2000 2 3 3 40 50 0\n';
    expect(readMachineTime(stat)).toEqual({ all: 100 + 2 + 30 + 4000 + 5 + 6 + 7 + 80, stolen: 80 });
  });

  it('reads what this machine says of itself', async () => {
    const { all, stolen } = await machineCpuTime();
    expect(all).toBeGreaterThan(0);
    expect(stolen).toBeGreaterThanOrEqual(0);
  });
});
