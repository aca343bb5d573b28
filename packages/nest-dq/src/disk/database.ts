import type { ClassicLevel } from 'classic-level';
import { DqError, toError } from '../errors.js';
import { damaged, prepareFolder } from './folder.js';

export type Database = ClassicLevel<string, Buffer>;

/** Bytes. What was changed lately, and so is likely to be deleted soon, is kept in one log and in memory. */
const WRITE_BUFFER = 16 * 1024 * 1024;

/** `DQ_CONFIG`: there is no package to keep a folder with, and nothing was made. `DQ_DISK`. */
export async function openDatabase(dir: string): Promise<Database> {
  const { ClassicLevel } = await loadClassicLevel();
  try {
    await prepareFolder(dir);
    const database: Database = new ClassicLevel<string, Buffer>(dir, {
      keyEncoding: 'utf8',
      valueEncoding: 'buffer',
      writeBufferSize: WRITE_BUFFER,
    });
    await database.open();
    return database;
  } catch (error) {
    throw asDiskError(dir, error);
  }
}

/** An optional peer, as it is native: only who asks for a folder needs it. */
async function loadClassicLevel(): Promise<typeof import('classic-level')> {
  try {
    return await import('classic-level');
  } catch (thrown) {
    const cause = toError(thrown);
    const needs = 'to keep jobs in a folder needs the package classic-level, which cannot be loaded';
    throw new DqError('DQ_CONFIG', `${needs} (${cause.message}): npm install classic-level@3`, { cause });
  }
}

/** `DQ_DISK`: what LevelDB says, as one who runs an application needs to know it. */
export function asDiskError(dir: string, thrown: unknown): DqError {
  if (thrown instanceof DqError) return thrown;
  const { message, cause, code } = toError(thrown) as Error & { code?: unknown };
  const inner = cause === undefined ? undefined : (toError(cause) as Error & { code?: unknown });
  const codes = [code, inner?.code];
  const why = inner?.message ?? message;
  if (codes.includes('LEVEL_LOCKED')) {
    return new DqError(
      'DQ_DISK',
      `the folder ${dir} is in use: by another process, by another cluster, or by an application of this process that was not closed or did not start; each needs its own`,
      { cause: thrown },
    );
  }
  if (codes.includes('LEVEL_CORRUPTION') || isTableCutShort(why)) return damaged(dir, why, thrown);
  return new DqError('DQ_DISK', `the folder ${dir} cannot be opened: ${why}`, { cause: thrown });
}

/** LevelDB maps its tables, and has this for what it looks for behind a table's end. */
function isTableCutShort(why: string): boolean {
  return /\.(ldb|sst): Invalid argument/.test(why);
}
