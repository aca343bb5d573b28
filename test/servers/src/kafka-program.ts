// Java, and the jars of Kafka in the user's cache.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadByMaven, userCache } from './maven.js';
import { ensurePackaged, thisHost, type Host } from './programs.js';

const VERSION = '4.2.2';
const DEPENDENCIES = [
  `<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${VERSION}</version>`,
  '<groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version>',
];

export interface KafkaProgram {
  /** The path of java. */
  readonly java: string;
  /** The folder of the jars. */
  readonly jars: string;
}

/**
 * Kafka, ready to be started. If its jars are not in the cache, this loads them with Maven; several processes may do so at
 * the same time. Missing Java or Maven is installed as other programs are, or an error says how to install it.
 */
export async function ensureKafka(host: Host = thisHost, cache = userCache()): Promise<KafkaProgram> {
  const java = await ensurePackaged('java', host);
  const jars = join(cache, `kafka-${VERSION}`);
  const load = { what: `Kafka ${VERSION}`, size: 'about 60 MB', dependencies: DEPENDENCIES };
  if (!existsSync(jars)) await loadByMaven(await ensurePackaged('mvn', host), jars, load);
  return { java, jars };
}
