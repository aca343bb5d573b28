// The classes of a broker as Java had them loaded, in the user's cache: with them a broker starts by two thirds of the work.
import { createHash, randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { KafkaProgram } from './kafka-program.js';

/** Java leaves an archive alone that does not fit it, or whose bytes are not those that were written. */
const CAREFULLY = ['-XX:+VerifySharedSpaces', '-Xlog:cds=off', '-Xlog:cds+dynamic=off'];

/** How the names of the archives begin that belong to this Java and these jars. */
export async function archiveOf({ java, jars }: KafkaProgram): Promise<string> {
  const path = await realpath(java);
  const { mtimeMs } = await stat(path);
  const jvm = createHash('sha256').update(`${path} ${mtimeMs}`).digest('hex').slice(0, 12);
  return `${jars}-java-${jvm}`;
}

/** Flags with which Java takes its classes from the archive, where there is one. */
export async function readingFlags(archive: string): Promise<string[]> {
  const found = await find(archive);
  return found === undefined
    ? ['-Xshare:auto']
    : ['-Xshare:auto', ...CAREFULLY, `-XX:SharedArchiveFile=${found}`];
}

/**
 * Makes the archive, where it is not there, by a broker that `start` starts with the given flags and `end` ends as Java wants
 * it. Several processes may do so at once. If it rejects, nothing is left.
 */
export async function makeArchive<Broker>(
  archive: string,
  start: (flags: readonly string[]) => Promise<Broker>,
  end: (broker: Broker) => Promise<void>,
): Promise<void> {
  if ((await find(archive)) !== undefined) return;
  await removeParts(archive);
  const part = `${archive}.part-${randomUUID()}`;
  try {
    await end(await start(['-Xshare:auto', `-XX:ArchiveClassesAtExit=${part}`]));
    const { size } = await stat(part);
    await rename(part, `${archive}-${size}.jsa`);
  } finally {
    await rm(part, { force: true });
  }
}

/** Its name says its size, as Java crashes by one that is cut off. */
async function find(archive: string): Promise<string | undefined> {
  const folder = dirname(archive);
  for (const name of await readdir(folder)) {
    const [, size] = new RegExp(`^${basename(archive)}-(\\d+)[.]jsa$`).exec(name) ?? [];
    if (size === undefined) continue;
    const { size: actual } = await stat(join(folder, name));
    if (actual === Number(size)) return join(folder, name);
  }
  return undefined;
}

const OLD = 600_000;

/** Removes the parts left by processes that were killed. */
async function removeParts(archive: string): Promise<void> {
  const folder = dirname(archive);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(`${basename(archive)}.part-`)) continue;
    const part = join(folder, name);
    const made = await stat(part).catch(() => undefined); // its maker may remove it just now
    if (made && Date.now() - made.mtimeMs > OLD) await rm(part, { force: true });
  }
}
