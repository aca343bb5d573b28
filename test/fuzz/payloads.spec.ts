// An accepted payload comes back as it was, and a refused one would not.
import { describe, expect } from '@jest/globals';
import fc from 'fast-check';
import { writeJson } from 'nest-handlers/schema';
import { holds } from './holds.js';

class Order {
  constructor(readonly content: unknown) {}
}

const part = fc.anything({
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withSet: true,
  withNullPrototype: true,
  withSparseArray: true,
  withTypedArray: true,
  maxDepth: 3,
});
const others = fc.constantFrom<unknown>(
  NaN,
  Infinity,
  -0,
  Symbol('x'),
  () => 1,
  /a/,
  new URLSearchParams('a=1'),
  new ArrayBuffer(2),
  '\ud800',
  new Error('no'),
  Promise.resolve(),
  new Date(NaN),
  undefined,
);
const payload = fc.oneof(
  part,
  fc.jsonValue(),
  fc.array(fc.oneof(fc.jsonValue(), others, part), { maxLength: 4 }),
  fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), others, part), { maxKeys: 4 }),
  fc.oneof(fc.jsonValue(), others).map((content) => new Order(content)),
);

describe('a payload', () => {
  holds('comes back as it was where it is accepted, and only there', payload, (value) => {
    const written = writeJson(value);
    const back = throughJson(value);
    if (typeof written === 'string') {
      expect(JSON.parse(written)).toEqual(expected(value));
      return;
    }
    expect(written.fact).toMatch(/^(is|has) .*: expected /);
    expect(back === undefined ? 'nothing' : back.value).not.toEqual(expected(value));
  });
});

/** Undefined if JSON refuses the value, or leaves it out. */
function throughJson(value: unknown): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(JSON.stringify(value)) };
  } catch {
    return undefined;
  }
}

/** A Date as its text, -0 as 0; a lost function or invalid Date is itself, so that nothing equals it. */
function expected(value: unknown): unknown {
  if (Object.is(value, -0)) return 0;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? value : value.toISOString();
  if (Array.isArray(value)) return Array.from(value, expected);
  if (typeof value !== 'object' || value === null) return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && !(value instanceof Order)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, expected(each)]));
}
