import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { checkMessage } from './protobuf-check.js';
import type { MessageType } from './protobufjs-api.js';

const protobufjs = createRequire(import.meta.url)('protobufjs') as {
  parse(text: string): { root: { resolveAll(): void; lookupType(name: string): MessageType } };
};
const { root } = protobufjs.parse(`
syntax = "proto3";
message Order {
  enum State { OPEN = 0; PAID = 1; }
  message Line { string sku = 1; }
  int32 count = 1;
  uint32 size = 2;
  int64 cents = 3;
  uint64 total = 4;
  double rate = 5;
  bool paid = 6;
  string name = 7;
  bytes raw = 8;
  State state = 9;
  repeated Line lines = 10;
  map<int32, string> notes = 11;
  map<bool, string> flags = 12;
}`);
root.resolveAll();
const type = root.lookupType('Order');

describe('checkMessage', () => {
  it.each<[object]>([
    [{}],
    [{ count: -5, size: 5, cents: '-9223372036854775808', total: '18446744073709551615' }],
    [{ rate: NaN, paid: false, name: '', raw: new Uint8Array(1), state: 'PAID' }],
    [{ state: 1, lines: [{ sku: 'a' }, {}], notes: { '-1': 'a' }, flags: { true: 'a' } }],
    [{ name: null, lines: undefined }],
  ])('takes %p', (value) => {
    expect(() => checkMessage(type, value, 'the value')).not.toThrow();
  });

  it.each<[unknown, string]>([
    ['a', "the value is 'a': expected an object with the fields of Order"],
    [{ nme: 'a' }, "the value.nme is 'a': expected only fields of Order: count, size"],
    [{ count: '5' }, "the value.count is '5': expected an integer from -2147483648 to 2147483647"],
    [{ count: 2 ** 31 }, 'the value.count is 2147483648: expected an integer'],
    [{ size: -1 }, 'the value.size is -1: expected an integer from 0 to 4294967295'],
    [{ cents: 2 ** 60 }, 'the value.cents is 1152921504606847000: expected an integer'],
    [{ cents: 5n }, 'the value.cents is 5n: expected an integer'],
    [{ total: '-1' }, "the value.total is '-1': expected an integer from 0"],
    [{ rate: '1' }, "the value.rate is '1': expected a number"],
    [{ paid: 1 }, 'the value.paid is 1: expected true or false'],
    [{ name: 5 }, 'the value.name is 5: expected a valid Unicode string'],
    [{ name: 'a\uD83D' }, 'the value.name is '],
    [{ raw: 'a' }, "the value.raw is 'a': expected a Buffer"],
    [{ state: 'SENT' }, "the value.state is 'SENT': expected one of OPEN, PAID"],
    [{ state: 7 }, 'the value.state is 7: expected one of OPEN, PAID'],
    [{ lines: {} }, 'the value.lines is {}: expected a list'],
    [{ lines: [{ sku: 5 }] }, 'the value.lines[0].sku is 5: expected a valid Unicode string'],
    [{ notes: ['a'] }, "the value.notes is [ 'a' ]: expected an object"],
    [{ notes: { a: 'a' } }, "a key of the value.notes is 'a': expected an integer"],
    [{ notes: { 1: 5 } }, "the value.notes['1'] is 5: expected a valid Unicode string"],
    [{ flags: { no: 'a' } }, "a key of the value.flags is 'no': expected true or false"],
  ])('refuses %p', (value, why) => {
    expect(() => checkMessage(type, value, 'the value')).toThrow(`KQ_BAD_MESSAGE: ${why}`);
  });
});
