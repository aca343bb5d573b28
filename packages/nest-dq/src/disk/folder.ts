import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DqError } from '../errors.js';
import { isDamaged } from './log-check.js';
import { type Manifest, readManifest } from './manifest-check.js';
import { isTableDamaged } from './table-check.js';

/**
 * The format written by this version. To change it: increment it, and handle the previous one in `Disk`. A folder with a newer
 * format is refused; one with an older format is rewritten before anything else is written.
 */
const FORMAT = 1;
const FORMAT_FILE = 'nest-dq.json';

/**
 * Checks a folder before LevelDB opens it, which may change or delete what it can't read; creates it if missing. Rejects with
 * `DQ_DISK`, leaving the folder as it was, if it is damaged, has a newer format, or belongs to another program.
 * @param intact Tables already found intact by an earlier check: they never change.
 */
export async function prepareFolder(dir: string, intact = new Set<string>()): Promise<void> {
  await makeFolder(dir);
  // Before the format: a process that claims the folder at this moment writes the format first.
  const files = await readdir(dir);
  const format = await readFormat(dir);
  if (format !== undefined && format > FORMAT) {
    throw new DqError(
      'DQ_DISK',
      `the folder ${dir} has format ${format} and was left unchanged: this version of nest-dq reads formats up to ${FORMAT}; run the version that wrote it, or a newer one`,
    );
  }
  if (format === undefined && files.some(isDatabase)) {
    throw new DqError(
      'DQ_DISK',
      `the folder ${dir} contains the database of another program: give nest-dq its own folder`,
    );
  }
  const others = files.filter((file) => !mayBeThere(file));
  if (format === undefined && others.length > 0) {
    throw new DqError(
      'DQ_DISK',
      `the folder ${dir} contains other files (${few(others)}) and was left unchanged: give nest-dq its own folder`,
    );
  }
  // Checked twice, since another process that has the folder open may change it during the first check.
  const problem = (await findDamage(dir, intact)) && (await findDamage(dir, intact));
  if (problem) throw damaged(dir, problem);
  if (format === undefined) await writeFormat(dir);
}

/** The error for a folder that can't be read. */
export function damaged(dir: string, problem: string, cause?: unknown): DqError {
  return new DqError(
    'DQ_DISK',
    `the folder ${dir} is damaged (${problem}): nothing was repaired, because that would lose jobs; replace it with a backup, or start with another folder`,
    { cause },
  );
}

/** Resolves with undefined if the folder isn't ours. */
async function readFormat(dir: string): Promise<number | undefined> {
  const text = await readIfThere(join(dir, FORMAT_FILE));
  if (text === undefined) return undefined;
  const format = /^\{"format":(\d{1,9})\}\s*$/.exec(text.toString('latin1'))?.[1];
  if (format === undefined) throw damaged(dir, `${FORMAT_FILE} cannot be read`);
  return Number(format);
}

async function findDamage(dir: string, intact: Set<string>): Promise<string | undefined> {
  const files = await readdir(dir);
  // A process was killed while it created the folder: nothing was ever stored.
  const isNew = !files.some((file) => isTable(file)) && !files.some(isLaterManifest);
  const logs = files.filter((file) => file.endsWith('.log'));
  if (!files.includes('CURRENT')) return isNew && logs.length === 0 ? undefined : 'CURRENT is missing';
  if (!isNew && logs.length === 0) return 'its log is missing';
  const current = (await readFileOrNothing(join(dir, 'CURRENT'))).toString('latin1');
  const manifest = /^(MANIFEST-\d{6,})\n$/.exec(current)?.[1];
  if (manifest === undefined) return 'CURRENT is corrupt';
  if (!files.includes(manifest)) return `${manifest}, which CURRENT names, is missing`;
  const read = manifestOf(await readFileOrNothing(join(dir, manifest)));
  // LevelDB silently uses the part it can read. After a crash that is right, since a log is deleted only once the next record is
  // on disk. So if that log is missing, the record had been written, and was lost.
  const isLost = read?.isTorn === true && read.log && !logs.some((log) => parseInt(log, 10) === read.log);
  if (!read || isLost) return `${manifest} is corrupt`;
  for (const log of logs) {
    if (isDamaged(await readFileOrNothing(join(dir, log)))) return `${log} is corrupt`;
  }
  for (const table of files) {
    if (!isTable(table) || !read.tables.has(parseInt(table, 10)) || intact.has(table)) continue;
    const bytes = await readIfThere(join(dir, table));
    if (bytes && isTableDamaged(bytes)) return `${table} is corrupt`;
    intact.add(table);
  }
  return undefined;
}

/** Returns undefined if it isn't LevelDB's. */
function manifestOf(bytes: Buffer): Manifest | undefined {
  try {
    return readManifest(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Resolves with an empty buffer if another process has replaced the file by now. */
async function readFileOrNothing(file: string): Promise<Buffer> {
  return (await readIfThere(file)) ?? Buffer.alloc(0);
}

async function readIfThere(file: string): Promise<Buffer | undefined> {
  return readFile(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}

/**
 * Files an empty folder may contain: hidden ones, such as `.gitkeep`; those at the top of a new file system; and the format that
 * another process is writing, or was killed while writing.
 */
function mayBeThere(file: string): boolean {
  return file.startsWith('.') || file === 'lost+found' || file.startsWith(FORMAT_FILE);
}

/** The first three names, and the number of further ones. */
function few(names: readonly string[]): string {
  const more = names.length - 3;
  return names.slice(0, 3).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function isDatabase(file: string): boolean {
  return file === 'CURRENT' || isTable(file) || file.endsWith('.log') || isLaterManifest(file);
}

function isTable(file: string): boolean {
  return file.endsWith('.ldb') || file.endsWith('.sst');
}

function isLaterManifest(file: string): boolean {
  return file.startsWith('MANIFEST-') && file !== 'MANIFEST-000001';
}

async function writeFormat(dir: string): Promise<void> {
  // Several processes may be here at once: which of them gets the folder is known only once LevelDB has opened it.
  const temporary = join(dir, `${FORMAT_FILE}.${randomUUID()}`);
  try {
    const file = await open(temporary, 'wx');
    try {
      await file.writeFile(`{"format":${FORMAT}}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(dir, FORMAT_FILE));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

const EXPECTED = 'expected a folder, or a path where nothing exists yet';

/**
 * Creates a folder and its missing parents, level by level. Node's recursive `mkdir` never ends where the system says that an
 * existing folder doesn't exist, as `/proc` does. Rejects with `DQ_DISK`.
 */
async function makeFolder(dir: string): Promise<void> {
  const missing: string[] = [];
  for (let at = dir; !(await isFolder(dir, at)); at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const each of missing) {
    await mkdir(each).catch((error: Error) => {
      if (codeOf(error) === 'EEXIST') return; // another process was faster
      throw cannotBeMade(dir, `${error.message}; expected a path where folders can be created`, error);
    });
  }
}

async function isFolder(dir: string, at: string): Promise<boolean> {
  try {
    if ((await stat(at)).isDirectory()) return true;
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') return false; // it is below a file, which is found next
    if (codeOf(error) !== 'ENOENT') throw error;
    if (!(await lstat(at).catch(() => undefined))?.isSymbolicLink()) return false;
    throw cannotBeMade(dir, `${at} is a link to a path that does not exist: ${EXPECTED}`, error);
  }
  const problem = `${at} is not a folder: ${EXPECTED}`;
  throw at === dir ? new DqError('DQ_DISK', problem) : cannotBeMade(dir, problem);
}

function cannotBeMade(dir: string, why: string, cause?: unknown): DqError {
  return new DqError('DQ_DISK', `the folder ${dir} cannot be created: ${why}`, { cause });
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
