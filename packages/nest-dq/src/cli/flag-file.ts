import { readFileSync } from 'node:fs';
import type { Arguments } from 'nest-handlers/cli';
import { toError } from '../errors.js';

/** What is in the file that a flag names. `WrongArguments`: it cannot be read. */
export function readFlagFile(args: Arguments, flag: string, path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (thrown) {
    throw args.wrong(`--${flag}: ${path} cannot be read: ${toError(thrown).message}.`);
  }
}
