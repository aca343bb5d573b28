import { lstat, mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DqError } from '../errors.js';

const EXPECTED = 'expected a folder, or a path where nothing exists yet';

/**
 * Makes a folder and the missing folders above it, one level after the other. Node's recursive `mkdir` never ends where the
 * system says that an existing folder does not exist, as `/proc` does. `DQ_DISK`.
 */
export async function makeFolder(dir: string): Promise<void> {
  const missing: string[] = [];
  for (let at = dir; !(await isFolder(dir, at)); at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const each of missing) {
    await mkdir(each).catch((error: Error) => {
      if (codeOf(error) === 'EEXIST') return; // another process was faster
      throw cannotBeMade(dir, `${error.message}; expected a place where folders can be made`, error);
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
  return new DqError('DQ_DISK', `the folder ${dir} cannot be made: ${why}`, { cause });
}

function codeOf(error: unknown): unknown {
  return (error as NodeJS.ErrnoException).code;
}
