// The command `nest-dq`. Exit status: 0 success, 1 failure, 2 invalid arguments or Redis unusable; `doctor` has its own statuses.
import { startProgram } from 'nest-handlers/cli';
import { COMMANDS } from './cli/commands.js';
import { CONNECTION } from './cli/connection-flags.js';
import { plainError } from './cli/plain-error.js';
import { DqError, type DqErrorCode } from './errors.js';
import { VERSION } from './fleet/version.js';

/** Errors about an argument: a tube, a reference, a time. */
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
  topics: { connection: CONNECTION },
  messageOf: plainError,
  isAboutArguments: (error) => error instanceof DqError && ABOUT_ARGUMENTS.includes(error.code),
});
