import { describe, expect, it } from '@jest/globals';
import { dated, schemaBy } from '../../spec-support/schemas.js';
import type { PayloadCodec } from './payload-codec.js';
import {
  codecsOf,
  TubeWires,
  wireOf,
  defineTube,
  schemaOf,
  tubeName,
  type AsJson,
  type PayloadOf,
  type Tube,
} from './tube.js';

const CODEC: PayloadCodec = { name: 'own', encode: String, decode: Number };

describe('tubeName', () => {
  it('takes a name, or a token', () => {
    expect(tubeName('order.cancel', '')).toBe('order.cancel');
    expect(tubeName(defineTube('order.cancel'), '')).toBe('order.cancel');
    expect(tubeName('aZ0-9-+/;.$_()', '')).toBe('aZ0-9-+/;.$_()');
  });

  it('gives the name without the prefix', () => {
    expect(tubeName('order', 'app1.')).toBe('order');
    expect(tubeName('-order', 'app1.')).toBe('-order'); // what beanstalkd sees does not begin with -
  });

  it('counts the prefix in the 200 bytes', () => {
    expect(tubeName('x'.repeat(200), '')).toHaveLength(200);
    expect(tubeName('x'.repeat(197), 'app')).toHaveLength(197);
    expect(() => tubeName('x'.repeat(201), '')).toThrow(/expected 1 to 200/);
    expect(() => tubeName('x'.repeat(198), 'app')).toThrow(/after the prefix "app"/);
  });

  it.each<unknown>([
    '',
    ' ',
    'a b',
    'ä',
    'a\r\n',
    '-a',
    'a:b',
    'a{b}',
    undefined,
    null,
    5,
    {},
    { name: 5 },
    [],
  ])('refuses %p', (name) => {
    expect(() => tubeName(name as string, '')).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });

  it('says where the name of a missing tube comes from', () => {
    expect(() => tubeName(undefined as never, '')).toThrow(
      /^DQ_BAD_TUBE: the tube is undefined: .*; circular import\? The file it comes from may import this one$/,
    );
    expect(() => tubeName('a b', '')).toThrow(/prefix included$/);
  });

  it('refuses an empty name after a prefix too', () => {
    expect(() => tubeName('', 'app.')).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });
});

describe('defineTube', () => {
  it('carries a schema, unlike a plain name', () => {
    const schema = schemaBy(dated);
    expect(schemaOf(defineTube('dated', { schema }))).toBe(schema);
    expect(schemaOf(defineTube('plain'))).toBeUndefined();
    expect(schemaOf('dated')).toBeUndefined();
  });

  it('carries its codecs, unlike a plain name', () => {
    const tube = defineTube('encoded', { codec: CODEC, alsoReads: [{ ...CODEC, name: 'v1' }] });
    expect(tube).toEqual({ name: 'encoded', codec: CODEC, alsoReads: [{ ...CODEC, name: 'v1' }] });
    expect(codecsOf(tube)).toBe(tube);
    expect(codecsOf(defineTube('encoded', { alsoReads: [CODEC] }))).toEqual({
      name: 'encoded',
      alsoReads: [CODEC],
    });
    expect(codecsOf(defineTube('plain'))).toBeUndefined();
    expect(codecsOf('encoded')).toBeUndefined();
  });

  it.each<[unknown, RegExp]>([
    ['superjson', /the codec of "t" is "superjson": expected \{ name, encode, decode \}/],
    [null, /is null/],
    [{ encode: String, decode: String }, /expected \{ name, encode, decode \}/],
    [{ ...CODEC, name: '' }, /expected/],
    [{ ...CODEC, name: 'a b' }, /with a name of 1 to 40 of A-Z a-z 0-9 _ \. -/],
    [{ ...CODEC, name: 'x'.repeat(41) }, /expected/],
    [{ ...CODEC, encode: 5 }, /two functions/],
    [{ name: 'a', encode: String }, /two functions/],
  ])('refuses the codec %p, with what was expected', (codec, message) => {
    for (const options of [{ codec }, { codec: CODEC, alsoReads: [codec] }]) {
      const define = () => defineTube('t', options as { codec: PayloadCodec });
      expect(define).toThrow(expect.objectContaining({ code: 'DQ_BAD_OPTION' }));
      if ('alsoReads' in options) expect(define).toThrow(/a codec in `alsoReads` of "t" is/);
      else expect(define).toThrow(message);
    }
  });

  it('refuses `alsoReads` that is no array, and two codecs of one name', () => {
    expect(() => defineTube('t', { alsoReads: CODEC as never })).toThrow(
      /^DQ_BAD_OPTION: `alsoReads` of "t" is .*: expected an array of codecs$/,
    );
    expect(() => defineTube('t', { codec: CODEC, alsoReads: [{ ...CODEC }] })).toThrow(
      /^DQ_BAD_OPTION: "t" has two codecs named "own": expected a name for each/,
    );
  });

  it.each<[object]>([[{ codec: CODEC }], [{ alsoReads: [CODEC] }]])(
    'refuses a wire next to codecs, whose payloads go-queue could not read: %p',
    (codecs) => {
      for (const wire of ['go-queue', { read: 'go-queue' }]) {
        expect(() => defineTube('t', { ...codecs, wire } as never)).toThrow(
          /^DQ_BAD_OPTION: the wire of "t" is .*: expected none next to a codec, because go-queue stores JSON$/,
        );
      }
    },
  );

  it.each<unknown>(['', ' ', 'a b', 'ä', '- ', 'x'.repeat(201), `-${'x'.repeat(200)}`, undefined, 5, {}])(
    'refuses the name %p where it stands',
    (name) => {
      const refusal = expect.objectContaining({ code: 'DQ_BAD_TUBE' });
      expect(() => defineTube(name as string)).toThrow(refusal);
      expect(() => defineTube(name as string, { schema: schemaBy(dated) })).toThrow(refusal);
    },
  );

  it('leaves to its use what depends on the prefix', () => {
    const tube = defineTube('-order');
    expect(tubeName(tube, 'app.')).toBe('-order');
    expect(() => tubeName(tube, '')).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
    expect(defineTube('x'.repeat(200)).name).toHaveLength(200);
  });

  it.each([['go-queue' as const], [{ read: 'go-queue' } as const]])('may be shared: %j', (wire) => {
    const tube = defineTube<{ id: string }>('x', { wire });
    expect(tube).toEqual({ name: 'x', wire });
    expect(wireOf(tube)).toEqual(wire);
    expect(defineTube('x', { schema: schemaBy(dated), wire })).toMatchObject({
      wire,
      schema: expect.anything(),
    });
  });

  it('is known by its name alone once its definition was used', () => {
    const wires = new TubeWires();
    expect(wires.of('x', 'x')).toBeUndefined();
    wires.of(defineTube('x', { wire: 'go-queue' }), 'x');
    expect([wires.of('x', 'x'), wires.of('y', 'y')]).toEqual(['go-queue', undefined]);
  });

  it.each<unknown>([
    {},
    null,
    'schema',
    { schema: undefined },
    { schema: {} },
    { schema: schemaBy(dated), more: 1 },
    { wire: 'go' },
    { wire: { read: 'go' } },
    { wire: { read: 'go-queue', write: 'go-queue' } },
    { wire: null },
  ])('refuses the options %p', (options) => {
    expect(() => defineTube('x', options as { schema: ReturnType<typeof schemaBy> })).toThrow(
      expect.objectContaining({ code: 'DQ_BAD_OPTION' }),
    );
  });
});

/** Compiles only where the two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <T extends true>(value: T): T => value;

describe('the payload of a tube', () => {
  it('is what JSON makes of it', () => {
    interface Order {
      id: string;
      at: Date;
      lines: { price: number; note?: string }[];
      close(): void;
    }
    interface OrderAsJson {
      id: string;
      at: string;
      lines: { price: number; note?: string }[];
    }
    const tube = defineTube<Order>('order');
    const given: PayloadOf<typeof tube> = { id: '1', at: '2030', lines: [{ price: 1 }] };
    const read: OrderAsJson = given;
    expect(read.id).toBe('1');
    expect(same<Same<AsJson<Uint8Array>, Buffer>>(true)).toBe(true);
    expect(same<Same<AsJson<string>, string>>(true)).toBe(true);
    expect(same<Same<AsJson<{ n: bigint; d: Date }>, { d: string }>>(true)).toBe(true);
    expect(same<Same<PayloadOf<Tube<Order, Order>>, Order>>(true)).toBe(true);
  });
});
