/** What packs and unpacks batches, with errors after which kafkajs does not try again for a minute. */
import kafkajs from 'kafkajs';
import { KqError, toError } from '../../errors.js';
import type { Compression } from '../driver.js';
import { type Codec, type LoadPackage, loadCodec, type Packing } from './codec-packages.js';

/** The numbers of the protocol. */
const TYPES = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const satisfies Record<Compression, number>;

/** By those numbers; none for what is not compressed. Each throws `KQ_CODEC` inside an error of kafkajs. */
export const codecs: Record<number, () => Codec> = {
  1: () => batchCodec('gzip'),
  2: () => batchCodec('snappy'),
  3: () => batchCodec('lz4'),
  4: () => batchCodec('zstd'),
};

/** Throws `KQ_CODEC` where nothing here can compress so. */
export function typeOf(compression: Compression = 'none'): number {
  const type = TYPES[compression];
  try {
    codecs[type]?.();
    return type;
  } catch (thrown) {
    throw toError(thrown).cause;
  }
}

/** Throws `KQ_CODEC`, rejects with `KQ_BAD_MESSAGE`, both inside an error of kafkajs. */
export function batchCodec(compression: Packing, load?: LoadPackage): Codec {
  const { compress, decompress } = codecOf(compression, load);
  return {
    compress,
    decompress: async (data) => {
      try {
        return await decompress(data);
      } catch (thrown) {
        const cause = toError(thrown);
        const fact = `messages compressed by ${compression} cannot be read: ${cause.message}`;
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
