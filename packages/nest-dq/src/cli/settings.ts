import { readConfigFile } from 'nest-handlers/cli';
import { type Arguments, type Flags, WrongArguments } from 'nest-handlers/cli';
import { factOf, type DqError } from '../errors.js';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { givenText, variableOf } from './given-text.js';
import { tell } from './process.js';
import { givenTls, TLS_FLAGS } from './tls-flags.js';

/** For commands that go to a cluster. */
export const CONNECTION_FLAGS: Flags = {
  beanstalks: {
    value: 'LIST',
    help: 'host:port, tls://host:port or unix:/path of each node, with commas between them (or DQ_BEANSTALKS)',
  },
  ...TLS_FLAGS,
  redis: { value: 'URL', help: 'redis://… or rediss://… (or DQ_REDIS)' },
  prefix: { value: 'PREFIX', help: 'the `prefix` of the application (or DQ_PREFIX)' },
  config: {
    value: 'FILE',
    help: 'a JSON file with options of the application (default nest-dq.json, if it is there)',
  },
};

/** The options of the module that a file may have: those that name the servers, and those that the scripts need. */
const IN_FILE = [
  'beanstalks',
  'tls',
  'redis',
  'prefix',
  'replicas',
  'minWritten',
  'backupDelay',
  'patience',
  'lease',
  'doneTtl',
  'staleAfter',
  'seal',
] as const;
const DEFAULT_FILE = 'nest-dq.json';
const silent = () => undefined;

/** What was given: flags come before the environment, and the environment before the file. */
export function givenOptions(args: Arguments): DqOptions {
  const file: DqOptions = readConfigFile(args, { byDefault: DEFAULT_FILE, names: IN_FILE, doubt: tell });
  const beanstalks = givenText(args, 'beanstalks', 'host:port,host:port');
  const redis = givenText(args, 'redis', 'redis://… or rediss://…');
  const prefix = givenText(args, 'prefix', 'a prefix');
  const tls = givenTls(args, file.tls);
  const options: DqOptions = {
    ...file,
    ...(beanstalks !== undefined && { beanstalks: beanstalks.split(',').map((each) => each.trim()) }),
    ...(tls !== undefined && { tls }),
    ...(redis !== undefined && { redis }),
    ...(prefix !== undefined && { prefix }),
  };
  for (const name of ['beanstalks', 'redis'] as const) {
    if (options[name] !== undefined) continue;
    throw new WrongArguments(
      `Nothing says which ${name} to ask: expected --${name}, ${variableOf(name)}, or a file with \`${name}\`.`,
    );
  }
  return options;
}

/** With the defaults for the rest. A command tells its failures by itself, so nothing is logged. */
export function resolveSettings(options: DqOptions): ResolvedOptions {
  const logger = { log: silent, warn: silent, error: silent };
  try {
    return realEnvironment.resolve({ ...options, consume: false }, logger, undefined);
  } catch (error) {
    throw new WrongArguments(`${factOf(error as DqError)}.`, { cause: error });
  }
}
