/** Which compressions kafkajs has: gzip by itself, the others where the application has put them in. */
import kafkajs from 'kafkajs';
import { KqError } from '../../errors.js';
import type { Compression } from '../driver.js';

/** The numbers of the protocol. */
const TYPES: Readonly<Record<Compression, number>> = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 };

/** Throws `KQ_CODEC` where nothing here can compress so. */
export function typeOf(compression: Compression = 'none'): number {
  const type = TYPES[compression];
  if (compression === 'none') return type;
  const codecs: Readonly<Record<number, unknown>> = kafkajs.CompressionCodecs;
  const codec = codecs[type];
  try {
    if (typeof codec === 'function') codec();
    return type;
  } catch (error) {
    throw new KqError(
      'KQ_CODEC',
      `nothing here compresses by ${compression}: put a codec into CompressionCodecs of kafkajs, or use gzip`,
      { cause: error },
    );
  }
}
