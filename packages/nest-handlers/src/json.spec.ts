import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { hasFieldsOnly, writeJson } from './json.js';

class Order {
  constructor(
    readonly items: unknown,
    readonly at: unknown = new Date(0),
  ) {}
}
class Hidden {
  readonly #content = 'lost';
  get content() {
    return this.#content;
  }
}
const AT = '1970-01-01T00:00:00.000Z';

/** The error's text, as a library makes it of a loss. */
function refusal(payload: unknown): string | undefined {
  const loss = writeJson(payload);
  return typeof loss === 'string' ? undefined : `payload${loss.at} ${loss.fact}`;
}

const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;

describe('a payload for JSON', () => {
  it.each<[string, unknown, unknown]>([
    [
      'plain',
      { id: '42', n: -1.5, list: [1, null, 'ä'], no: false },
      { id: '42', n: -1.5, list: [1, null, 'ä'], no: false },
    ],
    ['without what is undefined', { a: 1, b: undefined }, { a: 1 }],
    ['with a Date as its text', { at: new Date(0) }, { at: AT }],
    ['of a class with fields', new Order([new Order([])]), { items: [{ items: [], at: AT }], at: AT }],
    ['without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ['of another realm', runInNewContext('({ a: [{}, []] })'), { a: [{}, []] }],
    ['with what its toJSON returns', { toJSON: () => ({ a: 1 }), map: new Map() }, { a: 1 }],
    ['with half a character, which JSON escapes', { a: '\ud800' }, { a: '\ud800' }],
    ['with -0 as 0', [-0], [0]],
    [
      'that is a Buffer inside, by its toJSON',
      { b: Buffer.from('a') },
      { b: { type: 'Buffer', data: [97] } },
    ],
    [
      'with names that objects inherit',
      JSON.parse('{"__proto__":{"constructor":1}}'),
      JSON.parse('{"__proto__":{"constructor":1}}'),
    ],
    [
      'that inherits what JSON does not see',
      Object.assign(Object.create({ map: new Map(), n: NaN }) as object, { id: '1' }),
      { id: '1' },
    ],
    ['1,000 levels deep', nested(1_000), nested(1_000)],
  ])('is written: %s', (_name, payload, back) => {
    expect(JSON.parse(writeJson(payload) as string)).toEqual(back);
  });

  const cycle: { a: { self?: unknown }[] } = { a: [{}] };
  cycle.a[0]!.self = cycle;
  it.each<[string, unknown]>([
    ['payload is undefined: expected a JSON value', undefined],
    ['payload is NaN: expected a finite number', NaN],
    ['payload.a["b c"][1] is -Infinity: expected a finite number', { a: { 'b c': [0, -Infinity] } }],
    ['payload.n is 5n: expected a JSON value, such as its digits in a string', { n: 5n }],
    ['payload.total is function total: expected a JSON value', { total() {} }],
    ['payload.s is Symbol(x): expected a JSON value', { s: Symbol('x') }],
    ['payload[1] is undefined: expected null, which is what JSON stores', [1, undefined]],
    // oxlint-disable-next-line no-sparse-arrays
    ['payload.list[0] is undefined: expected null, which is what JSON stores', { list: [, 1] }],
    ['payload is a Promise: expected a JSON value; is an await missing?', Promise.resolve(1)],
    ['payload.q is a Promise', { q: runInNewContext('({ then() {} })') as unknown }],
    [
      'payload is a Map: expected a JSON value; JSON would drop its content, or the part that matters',
      new Map([['a', 1]]),
    ],
    ['payload.m is a Map', { m: runInNewContext('new Map()') as unknown }],
    ['payload is a Set', new Set()],
    ['payload is a RegExp', /a/],
    ['payload is a WeakMap', new WeakMap()],
    ['payload.cause is an Error', { id: '1', cause: Object.assign(new Error('no'), { code: 'ENOENT' }) }],
    ['payload.items[1].prices is a Map', new Order([{}, { prices: new (class extends Map {})() }])],
    ['payload.b is an ArrayBuffer', { b: new ArrayBuffer(2) }],
    ['payload.u is a Uint8Array', { u: new Uint8Array(2) }],
    ['payload.q is a URLSearchParams', { q: new URLSearchParams('a=1') }],
    ['payload.h is a Headers', { h: new Headers({ a: '1' }) }],
    ['payload.n is a Number', { n: Object(1) as unknown }],
    ['payload.h is an instance of Hidden without fields', { h: new Hidden() }],
    [
      'payload.items[3].at is an invalid Date: expected a valid one',
      { items: [1, 2, 3, { at: new Date(NaN) }] },
    ],
    ['payload.x.toJSON() is undefined', { x: { toJSON: () => undefined } }],
    ['payload.x.toJSON().m is a Map', { x: { toJSON: () => ({ m: new Map() }) } }],
    [
      'payload.x.toJSON() throws: Error: no',
      {
        x: {
          toJSON: () => {
            throw new Error('no');
          },
        },
      },
    ],
    [
      'payload.x cannot be read: Error: no',
      {
        get x() {
          throw new Error('no');
        },
      },
    ],
    ['payload.a[0].self is an object that contains itself: expected no cycle', cycle],
    ['payload has more than 1000 levels of arrays and objects: expected fewer', nested(1_001)],
    ['payload has more than 1000 levels of arrays and objects: expected fewer', nested(100_000)],
    ['payload cannot be read: TypeError', revoked()],
  ])('is refused, with the place and the reason: %s', (text, payload) => {
    expect(refusal(payload)).toMatch(new RegExp(`^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
  });

  it('is written where an application has given bigints a toJSON', () => {
    const prototype = BigInt.prototype as { toJSON?: () => string };
    prototype.toJSON = function (this: bigint) {
      return this.toString();
    };
    try {
      expect(writeJson({ n: 5n })).toBe('{"n":"5"}');
    } finally {
      delete prototype.toJSON;
    }
  });

  it('describes what was thrown', () => {
    const thrown = new Error('no');
    const payload = {
      x: {
        toJSON: () => {
          throw thrown;
        },
      },
    };
    expect(writeJson(payload)).toMatchObject({ cause: thrown });
  });
});

it('an object has fields only if it is plain, or an instance of a class with fields', () => {
  expect([{}, new Order([]), Object.create(null)].map((each: object) => hasFieldsOnly(each))).toEqual([
    true,
    true,
    true,
  ]);
  const others = [[], new Map(), new Headers(), new Hidden(), new Error('no')];
  expect(others.map((each) => hasFieldsOnly(each))).toEqual([false, false, false, false, false]);
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
