import { existsSync, readFileSync, statSync } from 'node:fs';
import { DqError, factOf, show, toError, unknownName } from '../errors.js';
import { withoutSecrets } from 'nest-handlers/log';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { WrongArguments, type Arguments, type Flags } from './arguments.js';
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
  const file = fileOf(args);
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

function fileOf(args: Arguments): DqOptions {
  const named = args.text('config', 'the path of a JSON file');
  const path = named ?? DEFAULT_FILE;
  if (named === undefined && !existsSync(path)) return {};
  const content = parse(path);
  if (statSync(path).mode & 0o002)
    tell(`everybody on this machine can write ${path}, and so choose the servers: chmod o-w ${path}`);
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new WrongArguments(
      `${path} has ${show(withoutSecrets(content))}: expected an object with options.`,
    );
  for (const name of Object.keys(content)) {
    if ((IN_FILE as readonly string[]).includes(name)) continue;
    throw new WrongArguments(
      `${path}: ${factOf(unknownName('DQ_CONFIG', `option \`${name}\` for the command line`, IN_FILE))}.`,
    );
  }
  return content;
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    // That of JSON.parse shows a part of the file.
    const why = thrown instanceof SyntaxError ? 'it has no JSON' : `${toError(thrown).message}`;
    throw new WrongArguments(`${path} cannot be read: ${why}: expected a JSON file.`);
  }
}
