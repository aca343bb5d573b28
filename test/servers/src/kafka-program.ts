// Java, and the jars of Kafka in the user's cache. Maven loads them once.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePackaged, thisHost, type Host } from './programs.js';

const VERSION = '4.2.2';
const DEPENDENCIES = [
  { group: 'org.apache.kafka', artifact: 'kafka_2.13', version: VERSION },
  { group: 'org.slf4j', artifact: 'slf4j-simple', version: '1.7.36' },
];
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const DOWNLOAD_LIMIT = 600_000;
const TAIL = 2_000;

const run = promisify(execFile);

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
  if (!existsSync(jars)) await download(await ensurePackaged('mvn', host), jars);
  return { java, jars };
}

export function userCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'nest-dq');
}

/** Loads into a folder of its own, and renames it at the end. So `jars` is complete if it is there. */
async function download(mvn: string, jars: string): Promise<void> {
  process.stderr.write(`The tests need Kafka ${VERSION}. Maven loads it now, some 60 MB, into ${jars}\n`);
  await mkdir(dirname(jars), { recursive: true });
  await removeInterrupted(jars);
  const part = await mkdtemp(`${jars}.part-`);
  try {
    await writeFile(join(part, 'pom.xml'), pom());
    await copyDependencies(mvn, part);
    await rename(join(part, 'jars'), jars);
  } catch (error) {
    if (!existsSync(jars)) throw error; // otherwise another process was quicker
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** Removes what downloads left that were killed: those which began so long ago that none can go on. */
async function removeInterrupted(jars: string): Promise<void> {
  const cache = dirname(jars);
  const parts = (await readdir(cache)).map((name) => join(cache, name)).filter(isPartOf(jars));
  for (const part of parts) {
    const { mtimeMs } = await stat(part);
    if (Date.now() - mtimeMs > 2 * DOWNLOAD_LIMIT) await rm(part, { recursive: true, force: true });
  }
}

const isPartOf = (jars: string) => (path: string) => path.startsWith(`${jars}.part-`);

/** Maven's own repository is in the folder, too, because two processes cannot share one. */
async function copyDependencies(mvn: string, part: string): Promise<void> {
  const args = ['-B', '-q', `-Dmaven.repo.local=${join(part, 'repository')}`, COPY];
  const settings = [`-DoutputDirectory=${join(part, 'jars')}`, '-DincludeScope=runtime'];
  try {
    await run(mvn, [...args, ...settings], { cwd: part, timeout: DOWNLOAD_LIMIT });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.slice(0, TAIL).trim();
    throw new Error(`Maven could not load Kafka ${VERSION}; its output: ${said || 'none'}`, { cause: error });
  }
}

function pom(): string {
  const dependencies = DEPENDENCIES.map(
    ({ group, artifact, version }) =>
      `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version></dependency>`,
  );
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test-servers</groupId><artifactId>kafka</artifactId><version>1</version>
  <dependencies>${dependencies.join('')}</dependencies>
</project>
`;
}
