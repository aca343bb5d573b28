import { describe, expect, it } from '@jest/globals';
import { inspect } from 'node:util';
import { KQ_ERROR_CODES, KqError, show, toError } from './errors.js';

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

describe('show', () => {
  const cycle: Record<string, unknown> = {};
  cycle['self'] = cycle;
  const evil = { [inspect.custom]: () => assertNever() };

  it.each<[unknown, string]>([
    ['text', "'text'"],
    [5n, '5n'],
    [undefined, 'undefined'],
    [Buffer.from('ab'), '<Buffer 61 62>'],
    [{ a: [1, null] }, '{ a: [ 1, null ] }'],
    [cycle, '<ref *1> { self: [Circular *1] }'],
    ['x'.repeat(101), `'${'x'.repeat(100)}'... 1 more character`],
  ])('shows %p', (value, shown) => {
    expect(show(value)).toBe(shown);
  });

  it('stays short, and throws nothing', () => {
    expect(show(Array.from({ length: 9 }, () => 'x'.repeat(99)))).toHaveLength(201);
    expect(show(evil)).toContain('nodejs.util.inspect.custom');
  });
});

function assertNever(): never {
  throw new Error('called');
}

describe('toError', () => {
  it('leaves an error as it is, and makes one of anything else', () => {
    const error = new TypeError('x');
    expect(toError(error)).toBe(error);
    expect(toError('text').message).toBe("a non-Error value was thrown: 'text'");
    expect(toError(Object.create(null)).message).toMatch(/was thrown: \[Object: null prototype\]/);
  });

  it('reads what is hard to read', () => {
    const odd = Object.assign(new Error('x'), { message: 5 });
    expect(toError(odd).message).toBe(
      "an Error with non-string fields was thrown: { name: 'Error', message: 5 }",
    );
    const trap = new Proxy({}, { getPrototypeOf: () => assertNever() });
    expect(toError(trap).message).toBe('an unreadable value was thrown');
  });
});
