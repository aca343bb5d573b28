/** Which compressions kafkajs has: ours, or what the application has put in. */
import kafkajs from 'kafkajs';
import { KqError, toError } from '../../errors.js';
import type { Compression } from '../driver.js';
import { type LoadPackage, loadCodec, type Packing } from './codec-packages.js';

/** The numbers of the protocol. */
const TYPES = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const satisfies Record<Compression, number>;
const PACKINGS: readonly Packing[] = ['gzip', 'snappy', 'lz4', 'zstd'];

/** What all clients of kafkajs in this process ask for a codec. */
const lookups: Record<number, () => unknown> = kafkajs.CompressionCodecs;
/** It unpacks without a bound. */
const kafkajsGzip = lookups[TYPES.gzip];
const ours = new WeakSet<() => unknown>();

/** Leaves alone what the application has put into `CompressionCodecs` by itself. Loads nothing of ours. */
export function registerCodecs(): void {
  for (const compression of PACKINGS) {
    const present = lookups[TYPES[compression]];
    if (present && present !== kafkajsGzip && (ours.has(present) || works(present))) continue;
    const lookup = () => kafkajsCodec(compression);
    ours.add(lookup);
    lookups[TYPES[compression]] = lookup;
  }
}

/** Throws `KQ_CODEC` where nothing here can compress so. */
export function typeOf(compression: Compression = 'none'): number {
  const type = TYPES[compression];
  try {
    lookups[type]?.();
    return type;
  } catch (thrown) {
    const cause = toError(thrown);
    if (cause.cause instanceof KqError) throw cause.cause;
    const fact = `the codec of ${compression} in CompressionCodecs of kafkajs cannot be used: ${cause.message}`;
    throw new KqError('KQ_CODEC', fact, { cause });
  }
}

/** In the form that kafkajs wants. Throws `KQ_CODEC`, rejects with `KQ_BAD_MESSAGE`, both inside an error of kafkajs. */
export function kafkajsCodec(compression: Packing, load?: LoadPackage) {
  const codec = codecOf(compression, load);
  return {
    compress: ({ buffer }: { readonly buffer: Buffer }) => codec.compress(buffer),
    decompress: async (data: Buffer) => {
      try {
        return await codec.decompress(data);
      } catch (thrown) {
        const cause = toError(thrown);
        const fact = `messages compressed by ${compression} cannot be read: ${cause.message}`;
        throw forGood(new KqError('KQ_BAD_MESSAGE', fact, { cause }));
      }
    },
  };
}

function codecOf(compression: Packing, load?: LoadPackage) {
  try {
    return loadCodec(compression, load);
  } catch (thrown) {
    throw forGood(toError(thrown));
  }
}

/** Anything else kafkajs would try again for a minute. */
function forGood(cause: Error): Error {
  return Object.assign(new kafkajs.KafkaJSNonRetriableError(cause), { cause });
}

function works(lookup: () => unknown): boolean {
  try {
    lookup();
    return true;
  } catch {
    return false; // so kafkajs says that it has none
  }
}
