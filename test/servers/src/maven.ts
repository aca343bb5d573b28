// Jars in the user's cache. Maven loads them once.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies';
const DOWNLOAD_LIMIT = 600_000;
const TAIL = 2_000;

const run = promisify(execFile);

export interface MavenLoad {
  /** As messages name it, such as `Kafka 4.2.2`. */
  readonly what: string;
  /** Such as `some 60 MB`. */
  readonly size: string;
  /** Elements of a POM, in each `<dependency>`. */
  readonly dependencies: readonly string[];
  /** Makes of the folder with the files what is wanted. @default nothing: they are it */
  readonly finish?: (folder: string) => Promise<void>;
}

export function userCache(): string {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'nest-dq');
}

/**
 * Loads into a folder of its own, and renames it at the end: `target` is complete if it is there. Several processes may do so
 * at the same time.
 */
export async function loadByMaven(mvn: string, target: string, load: MavenLoad): Promise<void> {
  process.stderr.write(`The tests need ${load.what}; Maven is downloading it (${load.size}) to ${target}\n`);
  await mkdir(dirname(target), { recursive: true });
  await removeInterrupted(target);
  const part = await mkdtemp(`${target}.part-`);
  try {
    await writeFile(join(part, 'pom.xml'), pom(load));
    await copyDependencies(mvn, part, load.what);
    const files = join(part, 'jars');
    await load.finish?.(files);
    await rename(files, target);
  } catch (error) {
    if (!existsSync(target)) throw error; // otherwise another process was quicker
  } finally {
    await rm(part, { recursive: true, force: true });
  }
}

/** Removes what killed downloads left: those begun long enough ago that none can still be in progress. */
async function removeInterrupted(target: string): Promise<void> {
  const cache = dirname(target);
  const parts = (await readdir(cache)).map((name) => join(cache, name)).filter(isPartOf(target));
  for (const part of parts) {
    const { mtimeMs } = await stat(part);
    if (Date.now() - mtimeMs > 2 * DOWNLOAD_LIMIT) await rm(part, { recursive: true, force: true });
  }
}

const isPartOf = (target: string) => (path: string) => path.startsWith(`${target}.part-`);

/** Maven's own repository is in the folder, too, because two processes cannot share one. */
async function copyDependencies(mvn: string, part: string, what: string): Promise<void> {
  const args = ['-B', '-q', `-Dmaven.repo.local=${join(part, 'repository')}`, COPY];
  const settings = [`-DoutputDirectory=${join(part, 'jars')}`, '-DincludeScope=runtime'];
  try {
    await run(mvn, [...args, ...settings], { cwd: part, timeout: DOWNLOAD_LIMIT });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.slice(0, TAIL).trim();
    throw new Error(`Maven could not download ${what}; its output: ${said || 'none'}`, { cause: error });
  }
}

function pom({ dependencies }: MavenLoad): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test-servers</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>${dependencies.map((each) => `<dependency>${each}</dependency>`).join('')}</dependencies>
</project>
`;
}
