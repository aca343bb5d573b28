/** Compresses and decompresses batches, with errors that kafkajs doesn't retry for a minute. */
import kafkajs from 'kafkajs';
import { KqError, toError } from '../../errors.js';
import type { Compression } from '../driver.js';
import { type Codec, type LoadPackage, loadCodec, type Packing } from './codec-packages.js';

/** Protocol numbers. */
const TYPES = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const satisfies Record<Compression, number>;

/** Codecs by protocol number; none for uncompressed batches. Each throws `KQ_CODEC` wrapped in a kafkajs error. */
export const codecs: Record<number, () => Codec> = {
  1: () => batchCodec('gzip'),
  2: () => batchCodec('snappy'),
  3: () => batchCodec('lz4'),
  4: () => batchCodec('zstd'),
};

/** Returns the protocol number. Throws `KQ_CODEC` if the compression isn't available. */
export function typeOf(compression: Compression = 'none'): number {
  const type = TYPES[compression];
  try {
    codecs[type]?.();
    return type;
  } catch (thrown) {
    throw toError(thrown).cause;
  }
}

/** Returns a codec that throws `KQ_CODEC` and rejects with `KQ_BAD_MESSAGE`, both wrapped in a kafkajs error. */
export function batchCodec(compression: Packing, load?: LoadPackage): Codec {
  const { compress, decompress } = codecOf(compression, load);
  return {
    compress,
    decompress: async (data) => {
      try {
        return await decompress(data);
      } catch (thrown) {
        const cause = toError(thrown);
        const fact = `messages compressed with ${compression} cannot be read: ${cause.message}`;
        throw forGood(new KqError('KQ_BAD_MESSAGE', fact, { cause }));
      }
    },
  };
}

function codecOf(compression: Packing, load?: LoadPackage): Codec {
  try {
    return loadCodec(compression, load);
  } catch (thrown) {
    throw forGood(toError(thrown));
  }
}

function forGood(cause: Error): Error {
  return Object.assign(new kafkajs.KafkaJSNonRetriableError(cause), { cause });
}
