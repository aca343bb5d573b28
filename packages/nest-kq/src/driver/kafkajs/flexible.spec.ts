import { describe, expect, it } from '@jest/globals';
import { FlexibleReader, FlexibleWriter } from './flexible.js';

const written = (write: (to: FlexibleWriter) => unknown) => {
  const to = new FlexibleWriter();
  write(to);
  return to.bytes.toString('hex');
};
const reader = (hex: string) => new FlexibleReader(Buffer.from(hex, 'hex'));
const long = 'x'.repeat(127);
const longHex = `8001${'78'.repeat(127)}`;

/** As the protocol calls them: COMPACT_NULLABLE_STRING. */
const TEXTS: readonly (readonly [text: string | null, hex: string])[] = [
  [null, '00'],
  ['', '01'],
  ['orders', '07' + '6f7264657273'],
  ['ü€', '06' + 'c3bc' + 'e282ac'],
  [long, longHex],
];

describe('the flexible encoding', () => {
  it.each(TEXTS)('has the text %j with its length in bytes, and one', (text, hex) => {
    expect(written((to) => to.text(text))).toBe(hex);
    expect(reader(hex).text()).toBe(text);
  });

  it('has lists with their length, and one', () => {
    const empty = '01';
    const numbers = '03' + '00000001' + 'fffffffe';
    expect(written((to) => to.list([], () => to))).toBe(empty);
    expect(written((to) => to.list([1, -2], (each, within) => within.int32(each)))).toBe(numbers);
    const bytes = reader(empty + numbers);
    expect(bytes.list(() => bytes.int32())).toEqual([]);
    expect(bytes.list(() => bytes.int32())).toEqual([1, -2]);
    const many = Array.from({ length: 300 }, (_, index) => index);
    const hex = written((to) => to.list(many, (each, within) => within.int16(each)));
    expect(hex.slice(0, 4)).toBe('ad02'); // 301
    const all = reader(hex);
    expect(all.list(() => all.int16())).toEqual(many);
  });

  it('reads a null list, as some answers have it, as an empty one', () => {
    const bytes = reader('00' + '0007');
    expect(bytes.list(() => bytes.int32())).toEqual([]);
    expect(bytes.int16()).toBe(7);
  });

  it('has numbers in network order', () => {
    const bytes = reader('8000' + '7fffffff' + 'fffffffffffffffe');
    expect([bytes.int16(), bytes.int32(), bytes.int64()]).toEqual([-32_768, 2_147_483_647, -2n]);
  });

  it('writes no tags, and leaves out those of later brokers', () => {
    expect(written((to) => to.tags())).toBe('00');
    const two = '02' + '00' + '03' + 'aabbcc' + '8001' + '00'; // 0 with three bytes, 128 with none
    for (const tags of ['00', two]) {
      const bytes = reader(`${tags}0007`);
      bytes.tags();
      expect(bytes.int16()).toBe(7);
    }
  });
});

describe('an answer that is wrong', () => {
  const reads: Readonly<Record<string, readonly [hex: string, read: (bytes: FlexibleReader) => unknown]>> = {
    'a number of 2 bytes': ['0001', (bytes) => bytes.int16()],
    'a number of 4 bytes': ['00000001', (bytes) => bytes.int32()],
    'a number of 8 bytes': ['0000000000000001', (bytes) => bytes.int64()],
    'a text': [longHex, (bytes) => bytes.text()],
    'a list': ['03' + '0001' + '0002', (bytes) => bytes.list(() => bytes.int16())],
    tags: ['01' + '07' + '02' + 'aabb', (bytes) => bytes.tags()],
  };

  it.each(Object.keys(reads))('is reported wherever it ends within %s', (what) => {
    const [hex, read] = reads[what]!;
    const bytes = Buffer.from(hex, 'hex');
    read(new FlexibleReader(bytes));
    for (let end = 0; end < bytes.length; end++)
      expect(() => read(new FlexibleReader(bytes.subarray(0, end)))).toThrow(RangeError);
  });

  it('says what is missing', () => {
    expect(() => reader('05' + '6162').text()).toThrow(
      'the response is truncated: expected 4 more bytes, got 2',
    );
  });

  it.each([
    ['a text', (bytes: FlexibleReader) => bytes.text()],
    ['a list', (bytes: FlexibleReader) => bytes.list(() => bytes.int32())],
    ['a tag', (bytes: FlexibleReader) => bytes.tags()],
  ])('allocates no memory for %s of four billion', (_what, read) => {
    expect(() => read(reader('ffffffff0f' + '00'))).toThrow(RangeError);
  });

  it('is reported where a length does not end', () => {
    const fact = 'a length in the response has more than 5 bytes';
    expect(() => reader('80'.repeat(5) + '01' + '00').text()).toThrow(fact);
    expect(() => reader('ff'.repeat(1_000)).tags()).toThrow(fact);
  });
});
