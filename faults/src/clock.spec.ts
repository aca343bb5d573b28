import { afterEach, describe, expect, it } from '@jest/globals';
import { machineTime, setClockAhead } from './clock.js';

const RightDate = Date;
const HOUR = 3_600_000;

afterEach(() => {
  globalThis.Date = RightDate;
});

describe('setClockAhead', () => {
  it.each([HOUR, -HOUR])('tells another time to everybody who asks (%s ms)', (ahead) => {
    const before = RightDate.now();
    setClockAhead(ahead);
    const times = [Date.now(), new Date().getTime()];
    const after = RightDate.now();
    for (const time of times) {
      expect(time).toBeGreaterThanOrEqual(before + ahead);
      expect(time).toBeLessThanOrEqual(after + ahead);
    }
  });

  it('leaves a Date that is made of an instant as it is, and the machine time', () => {
    setClockAhead(HOUR);
    expect(new Date(5).getTime()).toBe(5);
    expect(new Date('1970-01-01T00:00:01Z').getTime()).toBe(1_000);
    expect(new Date()).toBeInstanceOf(Date);
    expect(Math.abs(machineTime() - RightDate.now())).toBeLessThan(HOUR / 2);
  });
});
