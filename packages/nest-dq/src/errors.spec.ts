import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { DQ_ERROR_CODES, DqError, factOf, inWords, show, toError } from './errors.js';

describe('DqError', () => {
  it('carries a code, a fact and a cause', () => {
    const cause = new Error('socket');
    const error = new DqError('DQ_LEDGER_DOWN', 'no answer', { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      name: 'DqError',
      code: 'DQ_LEDGER_DOWN',
      message: 'DQ_LEDGER_DOWN: no answer',
    });
    expect(error.cause).toBe(cause);
  });

  it('is determinate, and of no node, unless it says so', () => {
    expect(new DqError('DQ_CLOSED', 'x').indeterminate).toBe(false);
    for (const field of ['nodes', 'issues', 'cause'])
      expect(field in new DqError('DQ_CLOSED', 'x')).toBe(false);
    const error = new DqError('DQ_TOO_FEW_COPIES', 'x', { indeterminate: true, nodes: { 'a:1': 'down' } });
    expect(error).toMatchObject({ indeterminate: true, nodes: { 'a:1': 'down' } });
  });

  it('has codes of one form, each once', () => {
    expect(new Set(DQ_ERROR_CODES).size).toBe(DQ_ERROR_CODES.length);
    expect(DQ_ERROR_CODES.filter((code) => !/^DQ_[A-Z]+(_[A-Z]+)*$/.test(code))).toEqual([]);
  });
});

describe('factOf', () => {
  it('is the sentence without the code, so that another error can say it', () => {
    const cause = new DqError('DQ_LEDGER_DOWN', 'Redis did not answer');
    expect(new DqError('DQ_LEDGER_DOWN', `nothing was stored: ${factOf(cause)}`).message).toBe(
      'DQ_LEDGER_DOWN: nothing was stored: Redis did not answer',
    );
  });
});

describe('show', () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  class Bad {
    get x(): number {
      throw new Error('no');
    }
  }
  it.each<[unknown, string]>([
    ['a "text"\n', '"a \\"text\\"\\n"'],
    [5, '5'],
    [NaN, 'NaN'],
    [10n, '10'],
    [null, 'null'],
    [undefined, 'undefined'],
    [Symbol('s'), 'Symbol(s)'],
    [function named() {}, 'function named'],
    [() => 1, 'function (anonymous)'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(NaN), 'an invalid Date'],
    [{ a: [1] }, '{"a":[1]}'],
    [cycle, '[object Object]'],
    [{ toJSON: () => undefined }, '[object Object]'],
    [{ big: 1n }, '[object Object]'],
    [Object.defineProperty({}, 'x', { enumerable: true, get: () => new Bad().x }), '[object Object]'],
  ])('%#: shows a value as a message can hold it', (value, text) => {
    expect(show(value)).toBe(text);
  });

  it('cuts what is long', () => {
    expect(show('x'.repeat(5_000)).length).toBeLessThan(110);
    expect(show({ x: 'x'.repeat(5_000) }).length).toBeLessThan(110);
  });
});

describe('toError', () => {
  it('keeps an Error as it is', () => {
    const error = new TypeError('mine');
    expect(toError(error)).toBe(error);
  });

  it('keeps an Error of another realm', () => {
    const foreign: unknown = runInNewContext("new RangeError('theirs')");
    expect(toError(foreign)).toBe(foreign);
  });

  it('says what was thrown otherwise', () => {
    expect(toError('boom').message).toContain('"boom"');
    expect(toError(undefined).message).toContain('undefined');
    expect(toError({ code: 4 }).message).toContain('{"code":4}');
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const trap = () => {
    throw new Error('trap');
  };
  it.each<[string, unknown]>([
    ['a message in a circle', Object.assign(new Error('x'), { message: cycle })],
    ['a message that is no primitive', Object.assign(new Error('x'), { message: Object.create(null) })],
    ['a BigInt as its message', Object.assign(new Error('x'), { message: 5n })],
    ['a symbol as its message', Object.assign(new Error('x'), { message: Symbol('s') })],
    ['a BigInt as its name', Object.assign(new Error('x'), { name: 5n })],
    ['a number as its stack', Object.assign(new Error('x'), { stack: 5 })],
    ['a getter that throws', Object.defineProperty(new Error('x'), 'message', { get: trap })],
    ['a proxy that throws', new Proxy({}, { get: trap, has: trap, getPrototypeOf: trap })],
  ])('gives name, message and stack as strings for an Error with %s', (_what, thrown) => {
    const { name, message, stack } = toError(thrown);
    expect([typeof name, typeof message, typeof stack]).toEqual(['string', 'string', 'string']);
  });
});

describe('inWords', () => {
  it('says why each address of a host failed, where Node does not', () => {
    const error = new AggregateError([new Error('ECONNREFUSED ::1'), new Error('ECONNREFUSED 127.0.0.1')]);
    expect(inWords(error)).toMatchObject({
      message: 'ECONNREFUSED ::1, ECONNREFUSED 127.0.0.1',
      cause: error,
    });
  });

  it('leaves an error with a message as it is', () => {
    const error = new AggregateError([new Error('a')], 'all failed');
    expect(inWords(error)).toBe(error);
  });
});
