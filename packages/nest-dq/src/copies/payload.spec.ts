import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { copyBody } from '../../spec-support/copy-body.js';
import { JobEnvelope } from './formats/dq1.js';
import { unwrap } from '../../spec-support/unwrap.js';
import type { Envelope } from './header.js';
import { decodePayload, encodePayload } from './payload.js';

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

/** What a handler gets of a payload. */
function through(payload: unknown): unknown {
  const job = { id: 'job', due: 5, generation: 0, copies: 3, priority: 1 };
  const body = copyBody(new JobEnvelope(job, encodePayload(payload)), 0);
  return decodePayload((unwrap(body) as Envelope).content);
}

describe('a payload', () => {
  it.each<{ payload: unknown }>([
    { payload: { id: '42', list: [1, null, 'ä\r\n'] } },
    { payload: [] },
    { payload: null },
    { payload: false },
    { payload: 0 },
    { payload: -1.5 },
    { payload: '' },
    { payload: 'text, not JSON: {"a":1}' },
    { payload: 'üñí 🐇\r\n\0' },
    { payload: undefined },
  ])('comes back as it was: %p', ({ payload }) => {
    expect(through(payload)).toEqual(payload);
  });

  it.each<{ payload: unknown; form: string }>([
    { payload: { a: 'x\x7f' }, form: 'string' },
    { payload: 'x\x7f\0', form: 'string' },
    { payload: { a: 'ä' }, form: 'object' },
    { payload: '\x80', form: 'object' },
    { payload: '\ud800', form: 'object' },
  ])('is kept as a text only where its length is its size: %p', ({ payload, form }) => {
    expect(typeof encodePayload(payload).bytes).toBe(form);
  });

  it('comes back as a Buffer when it is bytes, each of the 256', () => {
    for (const bytes of [ALL_BYTES, new Uint8Array(ALL_BYTES), Buffer.from('\r\n\n\r'), Buffer.alloc(0)]) {
      const back = through(bytes);
      expect(Buffer.isBuffer(back)).toBe(true);
      expect((back as Buffer).equals(bytes)).toBe(true);
    }
  });

  it('is what its toJSON says', () => {
    expect(through(new Date(0))).toBe('1970-01-01T00:00:00.000Z');
    expect(through({ at: new Date(0), gone: undefined })).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  it('is what it was at the call, whatever the caller writes into it later', () => {
    const bytes = Buffer.from('before');
    const content = encodePayload(bytes);
    bytes.write('after!');
    expect(decodePayload(content)).toEqual(Buffer.from('before'));
  });

  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  it.each<[string, unknown]>([
    ['a BigInt', 5n],
    ['a BigInt inside', { n: 5n }],
    ['a cycle', cycle],
    ['a function', () => 1],
    ['a symbol', Symbol('x')],
    ['what JSON leaves out', { toJSON: () => undefined }],
  ])('is refused when it is %s', (_name, payload) => {
    expect(() => encodePayload(payload)).toThrow(expect.objectContaining({ code: 'DQ_BAD_PAYLOAD' }));
  });

  class Order {
    constructor(
      readonly items: unknown,
      readonly at = new Date(0),
    ) {}
  }
  it.each<[string, unknown]>([
    ['the payload is a Promise: expected what JSON can hold; is an await missing?', Promise.resolve(1)],
    ['the payload is a Promise', runInNewContext('({ then() {} })')],
    ['the payload is a Map', new Map([['a', 1]])],
    ['the payload is a Set', new Set()],
    ['the payload is a RegExp', /a/],
    ['the payload is a WeakMap', new WeakMap()],
    ['the payload is a WeakSet', new WeakSet()],
    ['the payload is an Error', new TypeError('no')],
    ['the payload.cause is an Error', { id: '1', cause: Object.assign(new Error('no'), { code: 'ENOENT' }) }],
    ['the payload.user.roles is a Set', { user: { name: 'Ada', roles: new Set(['admin']) } }],
    ['the payload.items[1].prices is a Map', new Order([{}, { prices: new (class extends Map {})() }])],
    ['the payload[0][1] is a Promise', [[1, Promise.resolve()]]],
    ['the payload.m is a Map', { m: runInNewContext('new Map()') as unknown }],
  ])('is refused where JSON would lose it: %s', (message, payload) => {
    const encode = () => encodePayload(payload);
    expect(encode).toThrow(expect.objectContaining({ code: 'DQ_BAD_PAYLOAD' }));
    expect(encode).toThrow(message);
  });

  it('is not looked into where it turns itself into JSON, and not where JSON does not look', () => {
    const own = { toJSON: () => ({ roles: ['admin'] }), roles: new Set(['admin']), self: {} };
    own.self = own;
    const inherited = Object.assign(Object.create({ map: new Map() }) as object, { id: '1' });
    const payload = [own, new Order([], new Date(0)), inherited, {}, [], null, Object.create(null)];
    const at = '1970-01-01T00:00:00.000Z';
    expect(through(payload)).toEqual([
      { roles: ['admin'] },
      { items: [], at },
      { id: '1' },
      {},
      [],
      null,
      {},
    ]);
  });

  it('has at most 1,000 levels, whatever stands in its texts', () => {
    const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
    const json = (text: string) => ({ type: 'json' as const, bytes: Buffer.from(text) });
    for (const levels of [2, 1_000]) {
      const payload = [nested(levels - 1), '"[{'.repeat(1_000)];
      expect(decodePayload(encodePayload(payload))).toEqual(payload);
    }
    const fact = /more than 1000 levels of arrays and objects/;
    expect(() => encodePayload(nested(1_001))).toThrow(fact);
    expect(() => decodePayload(json('{"a":['.repeat(501) + ']}'.repeat(501)))).toThrow(fact);
    expect(() => decodePayload(json('['.repeat(1_000_000)))).toThrow(fact);
    expect(() => decodePayload(json(`["${'\\\\'.repeat(2_000)}`))).toThrow(/is no JSON/);
  });

  it('that was stored as JSON and is none is told so', () => {
    expect(() => decodePayload({ type: 'json', bytes: Buffer.from('{"a":') })).toThrow(
      /^DQ_BAD_PAYLOAD: .*"{\\"a\\":"/,
    );
  });
});
