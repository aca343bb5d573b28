import { describe, expect, it } from '@jest/globals';
import { refuseExpired, startByOf } from './expiry.js';

const DUE = 1_800_000_000_000;

describe('the expiry of a job', () => {
  it('counts from its due time, or is a time, or is that of its handler', () => {
    expect(startByOf({ due: DUE, expires: 600_000 })).toBe(DUE + 600_000);
    expect(startByOf({ due: DUE, expires: DUE + 5 })).toBe(DUE + 5);
    expect(startByOf({ due: DUE }, 7)).toBe(DUE + 7);
    expect(startByOf({ due: DUE, expires: 9 }, 7)).toBe(DUE + 9);
    expect(startByOf({ due: DUE })).toBeUndefined();
  });

  it('is later than its due time', () => {
    expect(() => refuseExpired({ due: DUE })).not.toThrow();
    expect(() => refuseExpired({ due: DUE, expires: 1 })).not.toThrow();
    expect(() => refuseExpired({ due: DUE, expires: DUE + 1 })).not.toThrow();
    expect(() => refuseExpired({ due: DUE, expires: DUE })).toThrow(
      /DQ_BAD_OPTION: `expireAt` is 2027-01-15T08:00:00.000Z, but the job is due at 2027-01-15T08:00:00.000Z/,
    );
  });
});
