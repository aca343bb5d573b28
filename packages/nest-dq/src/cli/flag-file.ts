import { readFileSync } from 'node:fs';
import type { Arguments } from 'nest-handlers/cli';
import { toError } from '../errors.js';

/** Reads the file named by a flag. Throws `WrongArguments` if it can't be read. */
export function readFlagFile(args: Arguments, flag: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw args.wrong(`--${flag}: cannot read ${path}: ${toError(thrown).message}.`);
  }
}
