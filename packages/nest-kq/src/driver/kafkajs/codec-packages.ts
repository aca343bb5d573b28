/** Compression in Kafka's formats, by packages the application installs and by Node itself. */
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { KqError, toError } from '../../errors.js';
import type { Compression } from '../driver.js';
import { mostUnpacked } from './lz4-frames.js';
import { unpackSnappy } from './snappy-frames.js';
import { LARGEST_UNPACKED_BYTES, refuseTooLarge } from './unpacked-size.js';

export type Packing = Exclude<Compression, 'none'>;

export interface Codec {
  readonly compress: (data: Buffer) => Promise<Buffer>;
  readonly decompress: (data: Buffer) => Promise<Buffer>;
}

/** Loads a package, like `require`. */
export type LoadPackage = (name: string) => unknown;

interface Way {
  /** Optional peer dependencies, all with prebuilt binaries for the usual platforms, which work off the main thread. */
  readonly name: string;
  /** Alternative if the package can't be installed. */
  readonly otherwise?: string;
  readonly codec: (load: LoadPackage) => Codec;
}

const BOUNDED = { maxOutputLength: LARGEST_UNPACKED_BYTES };
const gunzip = promisify(zlib.gunzip) as (data: Buffer, options: object) => Promise<Buffer>;
const GZIP: Codec = {
  compress: promisify<Buffer, Buffer>(zlib.gzip),
  decompress: (data) => gunzip(data, BOUNDED),
};

const WAYS: Readonly<Record<Exclude<Packing, 'gzip'>, Way>> = {
  snappy: {
    name: 'snappy',
    codec: (load) => {
      const { compress, uncompress } = load('snappy') as {
        readonly compress: (data: Buffer) => Promise<Buffer>;
        readonly uncompress: (data: Buffer) => Promise<Buffer>;
      };
      return { compress, decompress: (data) => unpackSnappy(data, uncompress) };
    },
  },
  lz4: {
    name: 'lz4-napi',
    codec: (load) => {
      const { compressFrame, decompressFrame } = load('lz4-napi') as {
        readonly compressFrame: (data: Buffer) => Promise<Buffer>;
        readonly decompressFrame: (data: Buffer) => Promise<Buffer>;
      };
      const decompress = async (data: Buffer) => {
        refuseTooLarge(mostUnpacked(data));
        return decompressFrame(data);
      };
      return { compress: (data) => compressFrame(data), decompress };
    },
  },
  zstd: {
    name: '@mongodb-js/zstd',
    otherwise: 'use Node 22.15 or newer, which has it built in',
    codec: (load) => {
      const own = nodesZstd();
      if (own) return own;
      const { compress, decompress } = load('@mongodb-js/zstd') as Codec;
      return { compress: (data) => compress(data), decompress };
    },
  },
};

const loadPackage: LoadPackage = createRequire(import.meta.url);

/** Returns a codec. Throws `KQ_CODEC` with what to install. */
export function loadCodec(compression: Packing, load = loadPackage): Codec {
  if (compression === 'gzip') return GZIP;
  const { name, otherwise, codec } = WAYS[compression];
  try {
    return codec(load);
  } catch (thrown) {
    const cause = toError(thrown);
    const reason = isMissing(cause) ? 'is not installed' : `cannot be loaded: ${cause.message}`;
    const remedy = [`npm install ${name}`, otherwise].filter(Boolean).join(', or ');
    throw new KqError(
      'KQ_CODEC',
      `messages compressed with ${compression} need the package ${name}, which ${reason}; ${remedy}`,
      { cause },
    );
  }
}

function isMissing(error: Error): boolean {
  return 'code' in error && error.code === 'MODULE_NOT_FOUND';
}

type Zlib = (data: Buffer, options: object, callback: (error: Error | null, result: Buffer) => void) => void;

/** Node's own zstd, available since 22.15 and 23.8; the types are those of Node 20. */
function nodesZstd(): Codec | undefined {
  const { zstdCompress, zstdDecompress } = zlib as { zstdCompress?: Zlib; zstdDecompress?: Zlib };
  if (!zstdCompress || !zstdDecompress) return undefined;
  const [compress, decompress] = [promisify(zstdCompress), promisify(zstdDecompress)];
  return { compress: (data) => compress(data, {}), decompress: (data) => decompress(data, BOUNDED) };
}
