import { describe, expect, it } from '@jest/globals';
import { copyBody } from '../../spec-support/copy-body.js';
import { JobEnvelope } from './formats/dq1.js';
import { unwrap } from '../../spec-support/unwrap.js';
import type { Envelope } from './header.js';
import { decodePayload, encodePayload } from './payload.js';

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

/** The payload as a handler receives it. */
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

  it('is the result of its toJSON', () => {
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

  it.each<[string, unknown]>([
    ['the payload is a Promise: expected a JSON value; is an await missing?', Promise.resolve(1)],
    ['the payload.user.roles is a Set: expected a JSON value', { user: { roles: new Set(['admin']) } }],
    [
      'the payload.items[3].at is an invalid Date: expected a valid one',
      { items: [1, 2, 3, { at: new Date(NaN) }] },
    ],
    [
      'the payload is "a\\ud800": expected a valid Unicode string: it has a lone surrogate (half a character)',
      'a\ud800',
    ],
  ])('is refused where it would not come back: %s', (message, payload) => {
    const encode = () => encodePayload(payload);
    expect(encode).toThrow(expect.objectContaining({ code: 'DQ_BAD_PAYLOAD' }));
    expect(encode).toThrow(message);
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
    expect(() => decodePayload(json(`["${'\\\\'.repeat(2_000)}`))).toThrow(/is not valid JSON/);
  });

  it('that was stored as JSON but is not valid JSON is reported as such', () => {
    expect(() => decodePayload({ type: 'json', bytes: Buffer.from('{"a":') })).toThrow(
      /^DQ_BAD_PAYLOAD: .*"{\\"a\\":"/,
    );
  });
});
