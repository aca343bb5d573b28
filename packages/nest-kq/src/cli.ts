// The command `nest-kq`. Exit status: 0 success, 1 failure, 2 invalid arguments.
import { readFileSync } from 'node:fs';
import { startProgram } from 'nest-handlers/cli';
import { COMMANDS } from './cli/commands.js';
import { CONNECTION } from './cli/connection-flags.js';
import { KqError, type KqErrorCode } from './errors.js';

/** Errors about an argument: a topic, a partition, a cursor. */
const ABOUT_ARGUMENTS: readonly KqErrorCode[] = ['KQ_BAD_TOPIC', 'KQ_BAD_OPTION', 'KQ_BAD_MESSAGE'];

/** Version of the installed package. */
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

await startProgram({
  name: 'nest-kq',
  version,
  commands: COMMANDS,
  topics: { connection: CONNECTION },
  messageOf: (error) =>
    error instanceof KqError
      ? `${error.message.slice(`${error.code}: `.length)} (${error.code})`
      : error.message,
  isAboutArguments: (error) => error instanceof KqError && ABOUT_ARGUMENTS.includes(error.code),
});
