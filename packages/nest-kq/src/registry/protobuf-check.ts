/** Checks that a value fits its message type: protobufjs would turn mismatches into zeros and empty strings. */
import { isWhole } from '../api/format.js';
import { show, wrongValue } from '../errors.js';
import type { MessageField, MessageType } from './protobufjs-api.js';

/** Checks a value; throws `KQ_BAD_MESSAGE`. Undefined and null fields count as absent. */
export function checkMessage(type: MessageType, value: unknown, what: string): void {
  if (!isObject(value)) throw bad(what, value, `an object with the fields of ${type.fullName.slice(1)}`);
  for (const name of Object.keys(value))
    if (!Object.hasOwn(type.fields, name))
      throw bad(
        `${what}.${name}`,
        value[name],
        `only fields of ${type.fullName.slice(1)}: ${fieldsOf(type)}`,
      );
  for (const [name, field] of Object.entries(type.fields)) {
    const given = value[name] ?? undefined;
    if (given !== undefined) checkField(field, given, `${what}.${name}`);
    else if (field.required)
      throw bad(`${what}.${name}`, value[name], 'a value, since the field is required');
  }
}

function fieldsOf(type: MessageType): string {
  return Object.keys(type.fields).join(', ') || 'none';
}

function checkField(field: MessageField, value: unknown, what: string): void {
  if (field.map) {
    if (!isObject(value)) throw bad(what, value, 'an object, since the field is a map');
    for (const [key, each] of Object.entries(value)) {
      const wrong = wrongKey(field.keyType ?? 'string', key);
      if (wrong !== undefined) throw bad(`a key of ${what}`, key, wrong);
      checkOne(field, each, `${what}[${show(key)}]`);
    }
  } else if (field.repeated) {
    if (!Array.isArray(value)) throw bad(what, value, 'a list, since the field is repeated');
    value.forEach((each: unknown, index) => checkOne(field, each, `${what}[${index}]`));
  } else checkOne(field, value, what);
}

/** Returns what was expected; undefined if the key is valid. */
function wrongKey(type: string, key: string): string | undefined {
  if (type === 'string') return SCALARS.string!.is(key) ? undefined : SCALARS.string!.expected;
  if (type === 'bool') return key === 'true' || key === 'false' ? undefined : 'true or false';
  const scalar = SCALARS[type]!;
  const given = scalar.is === int64.is || scalar.is === uint64.is ? key : Number(key);
  return /^-?\d+$/.test(key) && scalar.is(given) ? undefined : scalar.expected;
}

function checkOne({ type, resolvedType }: MessageField, value: unknown, what: string): void {
  if (!resolvedType) {
    const scalar = SCALARS[type];
    if (scalar && !scalar.is(value)) throw bad(what, value, scalar.expected);
  } else if ('fields' in resolvedType) checkMessage(resolvedType, value, what);
  else if (!isOf(resolvedType.values, value))
    throw bad(what, value, `one of ${Object.keys(resolvedType.values).join(', ')}`);
}

/** Whether it is one of the values, by name or number. */
function isOf(values: Readonly<Record<string, number>>, value: unknown): boolean {
  if (typeof value === 'string') return Object.hasOwn(values, value);
  return typeof value === 'number' && Object.values(values).includes(value);
}

interface Scalar {
  readonly expected: string;
  is(value: unknown): boolean;
}

const integer = (least: number, most: number): Scalar => ({
  expected: `an integer from ${least} to ${most}`,
  is: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
});
const long = (least: bigint, most: bigint): Scalar => ({
  expected: `an integer from ${least} to ${most}, as a string or a safe number`,
  is: (value) => {
    const whole = typeof value === 'string' ? /^-?\d{1,20}$/.test(value) : Number.isSafeInteger(value);
    return whole && BigInt(value as string | number) >= least && BigInt(value as string | number) <= most;
  },
});
const of = (expected: string, is: (value: unknown) => boolean): Scalar => ({ expected, is });

const int32 = integer(-(2 ** 31), 2 ** 31 - 1);
const uint32 = integer(0, 2 ** 32 - 1);
const int64 = long(-(2n ** 63n), 2n ** 63n - 1n);
const uint64 = long(0n, 2n ** 64n - 1n);
const float = of('a number', (value) => typeof value === 'number');

const SCALARS: Readonly<Record<string, Scalar>> = {
  int32,
  sint32: int32,
  sfixed32: int32,
  uint32,
  fixed32: uint32,
  int64,
  sint64: int64,
  sfixed64: int64,
  uint64,
  fixed64: uint64,
  float,
  double: float,
  bool: of('true or false', (value) => typeof value === 'boolean'),
  string: of('a valid Unicode string', (value) => typeof value === 'string' && isWhole(value)),
  bytes: of('a Buffer', (value) => value instanceof Uint8Array),
};

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}

function bad(what: string, value: unknown, expected: string) {
  return wrongValue('KQ_BAD_MESSAGE', what, value, expected);
}
