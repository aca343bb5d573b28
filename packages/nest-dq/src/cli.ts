// The command `nest-dq`. Exit status: 0 done, 1 it could not be done, 2 wrong arguments; `doctor` has its own.
import { startProgram } from 'nest-handlers/cli';
import { COMMANDS } from './cli/commands.js';
import { DqError, type DqErrorCode } from './errors.js';
import { VERSION } from './fleet/version.js';

/** Errors that say that an argument was wrong: a tube, a reference, a time. */
const ABOUT_ARGUMENTS: readonly DqErrorCode[] = [
  'DQ_BAD_TUBE',
  'DQ_BAD_REF',
  'DQ_BAD_DURATION',
  'DQ_BAD_TIME',
  'DQ_BAD_OPTION',
  'DQ_PAST_TIME',
  'DQ_TOO_FAR',
];

await startProgram({
  name: 'nest-dq',
  version: VERSION,
  commands: COMMANDS,
  isAboutArguments: (error) => error instanceof DqError && ABOUT_ARGUMENTS.includes(error.code),
});
