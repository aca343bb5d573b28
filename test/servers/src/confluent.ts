// Confluent's client in the user's cache. Its package loads a binary where it is installed; here it is built from its source.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { userCache } from './maven.js';

const NAME = '@confluentinc/kafka-javascript';
const VERSION = '1.10.1';
const BUILD_LIMIT = 1_800_000;
const TAIL = 2_000;

const run = promisify(execFile);

/** The folder of the package; undefined where nobody has built it. */
export function findConfluent(cache = userCache()): string | undefined {
  const folder = join(folderIn(cache), 'node_modules', NAME);
  return existsSync(folder) ? folder : undefined;
}

/**
 * Builds it where it is not there, which takes a compiler, make, Python, and the headers of OpenSSL and zlib, and some
 * minutes; with those of zstd, it has zstd. Resolves with its folder.
 */
export async function buildConfluent(cache = userCache()): Promise<string> {
  const found = findConfluent(cache);
  if (found !== undefined) return found;
  const folder = folderIn(cache);
  await mkdir(dirname(folder), { recursive: true });
  const part = await mkdtemp(`${folder}.part-`);
  try {
    await writeFile(join(part, 'package.json'), '{ "private": true }\n');
    await npm(part, ['install', '--ignore-scripts', '--no-audit', '--no-fund', `${NAME}@${VERSION}`]);
    await npm(part, ['rebuild', NAME]);
    await rename(part, folder);
  } catch (error) {
    if (findConfluent(cache) === undefined) throw error; // otherwise another process was quicker
  } finally {
    await rm(part, { recursive: true, force: true });
  }
  return join(folder, 'node_modules', NAME);
}

/** A binary is for one version of Node. */
function folderIn(cache: string): string {
  return join(cache, `confluent-${VERSION}-node-${process.versions.modules}`);
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  // dynamic: against the libraries of the system, where it would load the sources of its own otherwise
  const env = { ...process.env, CKJS_LINKING: 'dynamic', npm_config_build_from_source: 'true' };
  try {
    await run('npm', args, { cwd, env, timeout: BUILD_LIMIT, maxBuffer: 2 ** 28 });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    const said = `${stdout}${stderr}`.slice(-TAIL).trim();
    throw new Error(`npm could not ${args[0]} ${NAME}; its last output: ${said || 'none'}`, { cause: error });
  }
}
