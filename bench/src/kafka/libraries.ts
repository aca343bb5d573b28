import { findConfluent } from 'test-servers';
import type { StreamClient, StreamLibrary } from './client.js';
import { kafkaJs } from './kafka-js.js';
import { nestKq, nestKqByConfluent } from './nest-kq.js';
import { PLATFORMATIC, platformatic } from './platformatic.js';
import { transporter } from './transporter.js';

/** By the names that tables show, and that another process can get. */
const ALL = {
  'nest-kq': nestKq,
  'nest-kq, Confluent': nestKqByConfluent,
  '@platformatic/kafka': platformatic,
  'kafkajs, eachMessage': kafkaJs('eachMessage'),
  'kafkajs, eachBatch': kafkaJs('eachBatch'),
  'Nest transporter': transporter,
} satisfies Readonly<Record<string, StreamLibrary>>;

export type LibraryName = keyof typeof ALL;

const LIBRARIES: Readonly<Record<LibraryName, StreamLibrary>> = ALL;

/** Those whose clients are not among the dependencies of this repository, where they are here. */
export function optionalLibraries(): LibraryName[] {
  const all: readonly (readonly [LibraryName, string | undefined])[] = [
    ['nest-kq, Confluent', findConfluent()],
    ['@platformatic/kafka', PLATFORMATIC],
  ];
  return all.flatMap(([name, folder]) => (folder ? [name] : []));
}

/** Calls `use` with a client, which is closed after it. */
export async function withLibrary<T>(
  name: LibraryName,
  endpoint: string,
  use: (client: StreamClient) => Promise<T>,
): Promise<T> {
  const client = await LIBRARIES[name].connect(endpoint);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
