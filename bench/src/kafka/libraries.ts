import type { StreamClient, StreamLibrary } from './client.js';
import { kafkaJs } from './kafka-js.js';
import { nestKq, nestKqByConfluent } from './nest-kq.js';
import { transporter } from './transporter.js';

/** By the names that tables show, and that another process can get. */
const ALL = {
  'nest-kq': nestKq,
  'nest-kq, Confluent': nestKqByConfluent,
  'kafkajs, eachMessage': kafkaJs('eachMessage'),
  'kafkajs, eachBatch': kafkaJs('eachBatch'),
  'Nest transporter': transporter,
} satisfies Readonly<Record<string, StreamLibrary>>;

export type LibraryName = keyof typeof ALL;

const LIBRARIES: Readonly<Record<LibraryName, StreamLibrary>> = ALL;

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
