// Answers of a Redis, and its contents: an answer of ours, or one error.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { readShaped, type Shape } from 'nest-dq/src/ledger/foreign-json.js';
import { isReply, ScriptReply } from 'nest-dq/src/ledger/script.js';
import { factsOf, unfitness } from 'nest-dq/src/ledger/redis/server-check.js';
import { REDIS_VERBS } from 'nest-dq/src/ledger/redis/scripts.js';
import { damaged, holds, thrownBy } from './holds.js';

const value = fc.oneof(
  fc.integer({ min: -2, max: 9 }),
  fc.maxSafeInteger(),
  fc.constantFrom('', 'w', 'x', ' 0=a#b:1 31=a#b:2', '{"why":"stale"}', '["a"]'),
  fc.string(),
  fc.constantFrom(null, [], NaN),
);
const reply = fc.tuple(
  fc.constant(1),
  fc.constant(1_764_000_000_000_000),
  fc.array(value, { maxLength: 30 }),
);
/** The fields that answers are read by. */
const request = { id: 'x', due: 1, times: [1, 2], opening: { by: 'add' }, generation: 1, born: 1 };
const verb = fc.constantFrom(...(Object.keys(REDIS_VERBS) as (keyof typeof REDIS_VERBS)[]));

describe('the reader of replies of scripts', () => {
  holds('gives an answer, or fails as Redis fails', fc.tuple(verb, reply), ([name, [acted, us, values]]) => {
    const from = new ScriptReply([acted, us, ...values] as never);
    const { read } = REDIS_VERBS[name] as { readonly read: (from: ScriptReply, request: unknown) => unknown };
    const error = thrownBy(() => read(from, request));
    if (error !== undefined) expect(error).toMatchObject({ code: 'DQ_LEDGER_DOWN', indeterminate: true });
  });

  holds('recognizes a reply', fc.anything(), (given) => {
    const taken = isReply(given);
    if (taken) expect([0, 1]).toContain(given[0]);
  });
});

const shape: fc.Arbitrary<Shape> = fc.letrec<{ shape: Shape }>((tie) => ({
  shape: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(
      'text' as const,
      'number' as const,
      'boolean' as const,
      'text?' as const,
      'number?' as const,
    ),
    fc.record({ optional: tie('shape') }),
    fc.record({ list: tie('shape') }),
    fc.record({ values: tie('shape') }),
    fc.record({ fields: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('shape')) }),
  ),
})).shape;

/** A value of this shape. */
function ofShape(given: Shape): unknown {
  if (typeof given === 'string')
    return given.startsWith('text') ? 'x' : given.startsWith('number') ? 1.5 : true;
  if ('optional' in given) return ofShape(given.optional);
  if ('list' in given) return [ofShape(given.list), ofShape(given.list)];
  if ('values' in given) return { a: ofShape(given.values) };
  return Object.fromEntries(Object.entries(given.fields).map(([name, each]) => [name, ofShape(each)]));
}
const json = fc.jsonValue().map((each) => JSON.stringify(each));

describe('the reader of JSON of others', () => {
  holds('takes expected values', shape, (given) => {
    const value = ofShape(given);
    expect(readShaped(JSON.stringify(value), given)).toEqual(value);
  });

  holds('takes any value, or none', fc.tuple(damaged(json), shape), ([text, given]) => {
    const value = readShaped(text, given);
    if (value !== undefined) expect(value).toEqual(JSON.parse(text));
  });
});

const info = fc
  .array(
    fc.tuple(
      fc.constantFrom('redis_version', 'maxmemory_policy', 'aof_enabled', 'used_memory', 'role'),
      fc.string(),
    ),
  )
  .map((lines) => lines.map(([name, text]) => `${name}:${text}\r\n`).join(''));

describe('the reader of INFO', () => {
  holds('gives facts and sentences in one line each, whatever a server says', damaged(info), (text) => {
    const facts = Object.values(factsOf(text)).filter((fact) => typeof fact === 'string');
    for (const said of [...facts, ...unfitness(text)]) {
      // oxlint-disable-next-line no-control-regex
      expect(said).not.toMatch(/[\0-\x1f\x7f-\x9f]/);
      expect(said.length).toBeLessThan(500);
    }
  });
});
