import { describe, expect, it } from '@jest/globals';
import { KQ_ERROR_CODES, KqError } from './errors.js';

describe('KqError', () => {
  it('carries a code, a fact and a cause', () => {
    const cause = new Error('socket');
    const error = new KqError('KQ_AWAY', 'no answer', { cause, indeterminate: true });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'KqError',
      code: 'KQ_AWAY',
      message: 'KQ_AWAY: no answer',
      indeterminate: true,
    });
    expect(error.cause).toBe(cause);
  });

  it('is determinate and without a cause, unless it says so', () => {
    const error = new KqError('KQ_CLOSED', 'x');
    expect(error.indeterminate).toBe(false);
    expect('cause' in error).toBe(false);
  });

  it('has codes of one form, each once', () => {
    expect(new Set(KQ_ERROR_CODES).size).toBe(KQ_ERROR_CODES.length);
    expect(KQ_ERROR_CODES.filter((code) => !/^KQ_[A-Z]+(_[A-Z]+)*$/.test(code))).toEqual([]);
  });
});
