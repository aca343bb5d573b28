import { afterEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import zlib from 'node:zlib';
import { batchCodec, codecs, typeOf } from './codecs.js';
import { loadCodec } from './codec-packages.js';
import { mostUnpacked } from './lz4-frames.js';
import { unpackSnappy } from './snappy-frames.js';

const PACKINGS = ['gzip', 'snappy', 'lz4', 'zstd'] as const;

const missing = (name: string) => {
  throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' });
};

describe('a codec', () => {
  it.each(PACKINGS.flatMap((name) => [0, 1, 300_000].map((size) => [name, size] as const)))(
    '%s reads the %d bytes that it has written',
    async (name, size) => {
      const { compress, decompress } = loadCodec(name);
      const data = Buffer.alloc(size, 'messages of a topic ');
      const packed = await compress(data);
      if (size > 1) expect(packed.length).toBeLessThan(size / 10);
      expect((await decompress(packed)).equals(data)).toBe(true);
    },
  );

  it.each(PACKINGS)('%s reports that it cannot read a foreign frame', async (name) => {
    const { decompress } = batchCodec(name);
    await expect(decompress(Buffer.from('no frame of anybody'))).rejects.toMatchObject({
      retriable: false,
      cause: {
        code: 'KQ_BAD_MESSAGE',
        message: expect.stringContaining(`messages compressed with ${name} cannot be read: `),
      },
    });
  });

  // Before 22.15 Node has no zstd, and that of the package takes no bound.
  it.each(PACKINGS.filter((name) => name !== 'zstd' || 'zstdDecompress' in zlib))(
    '%s unpacks 128 MiB, and refuses a byte more',
    async (name) => {
      const { compress, decompress } = loadCodec(name);
      const most = await compress(Buffer.alloc(2 ** 27));
      await expect(decompress(most)).resolves.toHaveLength(2 ** 27);
      const tooMany = await compress(Buffer.alloc(2 ** 27 + 1));
      await expect(decompress(tooMany)).rejects.toThrow(/13421772\d|138412032/);
    },
    60_000,
  );

  it.each([
    ['snappy', 'npm install snappy'],
    ['lz4', 'npm install lz4-napi'],
  ] as const)('%s says what to install', (name, remedy) => {
    const fact = `messages compressed with ${name} need the package ${remedy.split(' ').at(-1)}, which is not installed`;
    expect(() => loadCodec(name, missing)).toThrow(`KQ_CODEC: ${fact}; ${remedy}`);
  });

  it('says why a package that is there cannot be loaded', () => {
    const broken = () => {
      throw new Error('no binary for this machine');
    };
    expect(() => loadCodec('lz4', broken)).toThrow(
      'lz4-napi, which cannot be loaded: no binary for this machine',
    );
  });
});

describe('typeOf', () => {
  const before = { ...codecs };
  afterEach(() => void Object.assign(codecs, before));

  it('is the number of the protocol', () => {
    const compressions = [undefined, 'none', ...PACKINGS] as const;
    expect(compressions.map((each) => typeOf(each))).toEqual([0, 0, 1, 2, 3, 4]);
  });

  it('says what to install where a package is missing', () => {
    codecs[3] = () => batchCodec('lz4', missing);
    expect(() => typeOf('lz4')).toThrow('KQ_CODEC: messages compressed with lz4 need the package lz4-napi');
  });
});

describe('mostUnpacked', () => {
  const word = (number: number) => Buffer.from(new Uint32Array([number]).buffer);
  const packed = word(3);
  const plain = word(0x8000_0003);
  const head = (flags: number) => Buffer.from([4, 0x22, 0x4d, 0x18, flags, 0x50, 0]); // blocks of 256 KiB

  it.each([
    ['one packed block', [head(0x60), packed, 'abc', word(0)], 2 ** 18],
    ['a plain one, and what lies behind the end', [head(0x60), plain, 'abc', word(0), packed, 'abc'], 3],
    ['two, with the size in the head', [head(0x68), '12345678', packed, 'abc', packed, 'abc'], 2 ** 19],
    ['two with checksums', [head(0x70), packed, 'abc', 'sums', packed, 'abc', 'sums', word(0)], 2 ** 19],
    ['no block', [head(0x60), word(0)], 0],
    ['a part of a head', [Buffer.from([4, 0x22])], 0],
  ])('counts %s', (_what, parts, most) => {
    expect(mostUnpacked(Buffer.concat(parts.map((part) => Buffer.from(part as string))))).toBe(most);
  });

  it('is never less than there is, with any block size', async () => {
    for (const size of [0, 1, 70_000, 5_000_000]) {
      const frame = await loadCodec('lz4').compress(randomBytes(size));
      expect(mostUnpacked(frame)).toBeGreaterThanOrEqual(size);
    }
  });
});

describe('unpackSnappy', () => {
  const head = Buffer.concat([Buffer.from('\x82SNAPPY\0', 'latin1'), Buffer.from([0, 0, 0, 1, 0, 0, 0, 1])]);
  const block = (text: string) => Buffer.concat([Buffer.from([0, 0, 0, text.length]), Buffer.from(text)]);
  const asItIs = async (data: Buffer) => data;

  it('joins the blocks after a head, in their order', async () => {
    const data = Buffer.concat([head, block('one'), block('two'), block('three')]);
    await expect(unpackSnappy(data, asItIs)).resolves.toEqual(Buffer.from('onetwothree'));
    await expect(unpackSnappy(head, asItIs)).resolves.toEqual(Buffer.alloc(0));
  });

  it('reads data without a head as one block', async () => {
    await expect(unpackSnappy(Buffer.from('one'), asItIs)).resolves.toEqual(Buffer.from('one'));
  });

  it('refuses a block that is cut off at any byte', async () => {
    const data = Buffer.concat([head, block('one'), block('two')]);
    const whole = [head.length, head.length + 7, data.length];
    for (let end = head.length; end <= data.length; end++) {
      const unpacked = unpackSnappy(data.subarray(0, end), asItIs);
      if (whole.includes(end)) await unpacked;
      else await expect(unpacked).rejects.toThrow(/^the snappy block at byte \d+ is truncated$/);
    }
  });

  it('refuses a block that claims more than 128 MiB, before it allocates memory for it', async () => {
    const claims = (...bytes: number[]) =>
      Buffer.concat([Buffer.from([0, 0, 0, bytes.length]), Buffer.from(bytes)]);
    const room = claims(0x80, 0x80, 0x80, 0x40); // 128 MiB
    await expect(unpackSnappy(Buffer.concat([head, room]), asItIs)).resolves.toHaveLength(4);
    for (const data of [
      Buffer.concat([head, room, claims(1)]),
      Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]),
    ]) {
      await expect(loadCodec('snappy').decompress(data)).rejects.toThrow(
        /^its declared size is \d+ bytes: expected/,
      );
    }
  });

  it('refuses a length below zero', async () => {
    const data = Buffer.concat([head, Buffer.from([0xff, 0xff, 0xff, 0xff])]);
    await expect(unpackSnappy(data, asItIs)).rejects.toThrow('the snappy block at byte 16 is truncated');
  });
});
