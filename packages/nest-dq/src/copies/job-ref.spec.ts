import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { stored } from '../../spec-support/stored.js';
import { isJobId } from './header.js';
import { formatRef, keyedId, parseRef, type RefContent } from './job-ref.js';
import type { JobRef, JobRefText } from '../api/job.js';
import { defineTube } from '../api/tube.js';
import { Seal } from '../seal/seal.js';

const CONTENT: RefContent = {
  tube: stored('order.cancel'),
  id: '01J00000000000000000000000',
  born: 0,
  due: Date.UTC(2030, 0, 1),
  copies: 3,
  places: [
    { index: 1, location: '10.0.0.1:11300#0123456789abcdef:17' },
    { index: 2, location: '[::1]:11300#0123456789abcdef:?' },
    { index: 0, location: '10.0.0.3:11300#fedcba9876543210:18446744073709551615' },
  ],
};

const wire = (value: unknown): JobRefText =>
  `dq1.${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}` as JobRefText;

const parse = (ref: JobRef) => parseRef(ref, 'app.');

function failureOf(action: () => unknown): Error {
  try {
    action();
  } catch (error) {
    return error as Error;
  }
  throw new Error('it did not fail');
}

describe('formatRef and parseRef', () => {
  it('find the same again', () => {
    expect(parse(formatRef(CONTENT))).toEqual(CONTENT);
    expect(parse(formatRef({ ...CONTENT, places: [], copies: 1 }))).toEqual({
      ...CONTENT,
      places: [],
      copies: 1,
    });
  });

  it('keep the key of a keyed job, whatever is in it', () => {
    for (const key of ['order:42', '"\\ä🐇\r\n\0', 'x'.repeat(500)]) {
      const ref = { ...CONTENT, key, born: 1_900_000_000_000 };
      expect(parse(formatRef(ref))).toEqual(ref);
    }
    expect(Object.values(parse(formatRef(CONTENT)))).not.toContain('');
    expect(parse(formatRef(CONTENT)).key).toBeUndefined();
  });

  it('is a string that fits a URL and a header unescaped', () => {
    const text = formatRef({ ...CONTENT, places: [{ index: 30, location: 'knoten-ä.example:1#x:?' }] });
    expect(text).toMatch(/^dq1\.[A-Za-z0-9_-]+$/);
    expect(encodeURIComponent(text)).toBe(text);
    expect(parse(text).places[0]!.location).toBe('knoten-ä.example:1#x:?');
  });

  it('take a receipt, and a receipt after JSON', () => {
    const receipt = {
      id: CONTENT.id,
      ref: formatRef(CONTENT),
      tube: CONTENT.tube,
      dueAt: new Date(CONTENT.due),
      copies: 3,
    };
    expect(parse(receipt)).toEqual(CONTENT);
    expect(parse(JSON.parse(JSON.stringify(receipt)) as JobRef)).toEqual(CONTENT);
  });
});

describe('parseRef', () => {
  const good: unknown[] = ['t', 'id', 0, 5, 1, [[0, 'a#b:1']]];
  it('takes what the refusals below are made from', () => {
    expect(parse(wire(good)).places).toEqual([{ index: 0, location: 'a#b:1' }]);
  });

  it.each<[unknown, string]>([
    ['', '""'],
    ['garbage', '"garbage"'],
    [CONTENT.id, CONTENT.id],
    ['dq1.', '"dq1."'],
    ['dq1.%%%', '"dq1.%%%"'],
    [formatRef(CONTENT).replace('dq1.', 'dq2.'), '"dq2.'],
    [formatRef(CONTENT).slice(0, 60), '"dq1.'],
    [wire('null'), '"dq1.'],
    [wire({ tube: 't' }), '"dq1.'],
    [wire([]), '"dq1.'],
    [wire(good.with(0, 7)), '"dq1.'],
    [wire(good.with(1, null)), '"dq1.'],
    [wire(good.with(1, ':dead')), '"dq1.'],
    [wire(good.with(2, -1)), '"dq1.'],
    [wire(good.with(3, 1.5)), '"dq1.'],
    [wire(good.with(3, '5')), '"dq1.'],
    [wire(good.with(4, 32)), '"dq1.'],
    [wire(good.with(5, {})), '"dq1.'],
    [wire(good.with(5, [5])), '"dq1.'],
    [wire(good.with(5, [[0]])), '"dq1.'],
    [wire(good.with(5, [[0.5, 'a#b:1']])), '"dq1.'],
    [wire(good.with(5, [[-1, 'a#b:1']])), '"dq1.'],
    [wire(good.with(5, [[31, 'a#b:1']])), '"dq1.'],
    [wire([...good, 5]), '"dq1.'],
    [wire([...good, null]), '"dq1.'],
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [{}, '{}'],
    [{ ref: 5 }, '{"ref":5}'],
    [{ ref: 'x' }, '{"ref":"x"}'],
    [{ tube: 't' }, '{"tube":"t"}'],
    // A receipt says which job it is: its key is none to fall back on.
    [{ ref: 'x', tube: 't', key: 'k' }, '{"ref":"x"'],
    [{ ref: null, tube: 't', key: 'k' }, '{"ref":null'],
  ])('refuses %p, and shows it', (ref, shown) => {
    const refuse = () => parse(ref as JobRef);
    expect(refuse).toThrow(expect.objectContaining({ code: 'DQ_BAD_REF' }));
    expect(refuse).toThrow(shown);
    expect(refuse).toThrow('expected a receipt');
  });

  it.each<[string, unknown[]]>([
    ['a tube that nobody has', ['a b\r\n', 'x', 0, 0, 3, []]],
    ['a tube that ends the hash tag of its keys', ['a}::dead', 'x', 0, 0, 3, []]],
    ['a time that no Date has', ['t', 'x', 0, 8.64e15 + 1, 3, []]],
    ['a key of 501 characters', ['t', 'x', 0, 0, 3, [], 'k'.repeat(501)]],
    [
      'more places than there are nodes',
      ['t', 'x', 0, 0, 3, Array.from({ length: 101 }, () => [0, 'a#b:1'])],
    ],
  ])('refuses %s', (_what, content) => {
    expect(() => parse(wire(content))).toThrow(/cut off or altered: expected a receipt/);
  });

  it('takes the longest there can be, and looks into none that is longer', () => {
    const longest: RefContent = {
      ...CONTENT,
      tube: stored('t'.repeat(200)),
      id: 'i'.repeat(100),
      born: 8.64e15,
      due: 8.64e15,
      copies: 31,
      places: Array.from({ length: 100 }, () => ({ index: 30, location: 'a#b:1'.padEnd(300, '1') })),
      key: '🐇'.repeat(250),
    };
    expect(parse(formatRef(longest))).toEqual(longest);
    const { message } = failureOf(() => parse(`dq1.${'A'.repeat(100_000_000)}` as JobRefText));
    expect(message.length).toBeLessThan(400);
  });

  it('says that a string was cut short', () => {
    const whole = wire(good);
    expect(() => parse({ ref: whole.slice(0, -9) })).toThrow(
      /"}, which is cut off or altered: expected a receipt/,
    );
    expect(() => parse({ ref: 'order 42' })).toThrow(
      'the reference is {"ref":"order 42"}: expected a receipt',
    );
  });

  it('says that a job is not found by its id alone', () => {
    const id = '01JD2Q7Z0000000000000000AA' as JobRefText;
    expect(() => parse(id)).toThrow(
      `the reference is "${id}": expected a receipt, its \`ref\` (the \`id\` alone finds nothing)`,
    );
  });

  it('says how long a key is that is too long', () => {
    expect(() => parse({ tube: 't', key: 'x'.repeat(501) })).toThrow(
      /, 501 characters: expected a string of 1 to 500/,
    );
  });

  it('takes a tube and a key as whatever is scheduled under it', () => {
    const target = { tube: 'app.t', id: keyedId(stored('app.t'), 'order:42'), key: 'order:42' };
    const unknown = { born: undefined, due: 0, copies: 0, places: [] };
    expect(parse({ tube: 't', key: 'order:42' })).toEqual({ ...target, ...unknown });
    expect(parse({ tube: defineTube<number>('t'), key: 'order:42' })).toEqual({ ...target, ...unknown });
  });

  it('takes a tube and an id as a job that has to be looked up', () => {
    const target = { tube: 'app.t', id: CONTENT.id, byId: true };
    const unknown = { born: undefined, due: 0, copies: 0, places: [] };
    expect(parse({ tube: 't', id: CONTENT.id })).toEqual({ ...target, ...unknown });
    expect(parse({ tube: 't', id: CONTENT.id, key: 'k' } as JobRef)).toMatchObject({ key: 'k' });
  });

  it.each([undefined, '', ':dead', 'a b', 42])('refuses the id %p, and shows it', (id) => {
    const refuse = () => parse({ tube: 't', id } as JobRef);
    expect(refuse).toThrow(expect.objectContaining({ code: 'DQ_BAD_REF' }));
    expect(refuse).toThrow(/the id of the reference is .*: expected the `id` of a job/);
  });

  it.each<[unknown, string]>([
    ['', '""'],
    ['x'.repeat(501), '"xxx'],
    [42, '42'],
    [null, 'null'],
    [undefined, 'undefined'],
  ])('refuses the key %#', (key, shown) => {
    const refuse = () => parse({ tube: 't', key } as JobRef);
    expect(refuse).toThrow(expect.objectContaining({ code: 'DQ_BAD_REF' }));
    expect(refuse).toThrow(`the key of the reference is ${shown}`);
  });

  it.each([undefined, 'no tube', 5, ''])('refuses the tube %p next to a key', (tube) => {
    const refuse = () => parse({ tube, key: 'k' } as JobRef);
    expect(refuse).toThrow(expect.objectContaining({ code: 'DQ_BAD_TUBE' }));
  });
});

describe('keyedId', () => {
  // An id that changes makes two jobs of one key, in a cluster where two versions run side by side.
  it('is the same forever', () => {
    expect(keyedId(stored('order.cancel'), 'order:42')).toBe('rqhlG48TMg3_uxJjBxjO4YzY');
  });

  it('distinguishes tubes from keys, wherever one ends and the other begins', () => {
    const names = ['', 'a', 'b', 'ab', '","', '\ud800', '\ud801', '\ufffd', 'A', ' '];
    const ids = names.flatMap((tube) => names.map((key) => keyedId(stored(tube), key)));
    expect(new Set(ids).size).toBe(names.length ** 2);
  });

  it('is an id like any other', () => {
    expect(isJobId(keyedId(stored('t'), 'x'.repeat(500)))).toBe(true);
    expect(keyedId(stored('t'), 'k')).toHaveLength(24);
  });
});

describe('with a seal', () => {
  const keys = new Map([
    ['old', randomBytes(32)],
    ['new', randomBytes(32)],
  ]);
  const settings = { encrypt: true, acceptsUnsealed: false, unsealed: new Set(['legacy']) };
  const sealOf = (current = 'new', more = {}) => new Seal({ ...settings, ...more }, { keys, current });
  const seal = sealOf();
  const ref = formatRef(CONTENT, seal);
  const read = (text: string, by: Seal | undefined = seal) =>
    parseRef({ ref: text as JobRefText }, 'app.', by);

  it('have a tag that everybody with the key can check, and still fit a URL', () => {
    expect(ref).toMatch(/^dqs\.[\w-]+\.[\w-]{22}\.new$/);
    expect(encodeURIComponent(ref)).toBe(ref);
    expect(read(ref, sealOf('old'))).toEqual(CONTENT);
    expect(read(formatRef(CONTENT, sealOf('old')))).toEqual(CONTENT);
  });

  it('are refused with any of their characters changed', () => {
    const rest = ref.slice(ref.indexOf('.') + 1, ref.lastIndexOf('.'));
    for (let at = 0; at < rest.length; at++) {
      const others = ['A', '1', '-', '.'].filter((other) => other !== rest[at]);
      for (const other of others) {
        const altered = `dqs.${rest.slice(0, at)}${other}${rest.slice(at + 1)}.new`;
        expect(() => read(altered)).toThrow(/^DQ_BAD_REF: .*altered/);
      }
    }
    expect(() => read(`${ref.slice(0, -3)}old`)).toThrow(
      /of job \w+ of "order.cancel" was altered or is from another `seal.context`: its tag does not match/,
    );
  });

  it('are refused without a tag, but of tubes and in times without a seal', () => {
    const bare = formatRef(CONTENT);
    expect(() => read(bare)).toThrow(
      /^DQ_BAD_REF: .*of job \w+ of "order.cancel" has no tag of `seal`: expected/,
    );
    expect(read(bare, sealOf('new', { acceptsUnsealed: true }))).toEqual(CONTENT);
    const legacy = { ...CONTENT, tube: stored('legacy') };
    expect(formatRef(legacy, seal)).toBe(formatRef(legacy));
    expect(read(formatRef(legacy), seal)).toEqual(legacy);
  });

  it('are refused with a key that is unknown, and not looked at without a seal', () => {
    const other = new Seal(settings, { keys: new Map([['own', randomBytes(32)]]), current: 'own' });
    expect(() => read(ref, other)).toThrow(/is sealed with the key "new", which this process does not have/);
    expect(parseRef({ ref }, 'app.')).toEqual(CONTENT);
  });

  it('may name a job by its key or id all the same, since only the application does that', () => {
    expect(parseRef({ tube: 't', key: 'k' }, 'app.', seal)).toMatchObject({ tube: 'app.t', key: 'k' });
    expect(parseRef({ tube: 't', id: 'x' }, 'app.', seal)).toMatchObject({ tube: 'app.t', id: 'x' });
  });
});
