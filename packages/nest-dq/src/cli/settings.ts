import { type Arguments, readConfigFile, WrongArguments } from 'nest-handlers/cli';
import { type DqError, factOf } from '../errors.js';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { contextOf, readContext } from './contexts.js';
import { note } from './process.js';
import type { TlsOptions } from '../nest/tls-option.js';
import { readFlagFile } from './flag-file.js';

/** Module options allowed in a file: those that name the servers, and those that commands need. */
const IN_FILE = [
  'beanstalks',
  'tls',
  'redis',
  'prefix',
  'replicas',
  'minWritten',
  'patience',
  'seal',
  'advanced',
] as const;
const DEFAULT_FILE = 'nest-dq.json';
const silent = () => undefined;

/**
 * Returns the given options. Flags override the context, if one is named. Otherwise they override the environment, which
 * overrides the file.
 */
export function givenOptions(args: Arguments): DqOptions {
  const context = contextOf(args);
  const file: DqOptions =
    context === undefined
      ? readConfigFile(args, { byDefault: DEFAULT_FILE, names: IN_FILE, doubt: note })
      : readContext(context, IN_FILE, note);
  const source = { args, environment: context === undefined ? process.env : {} };
  const beanstalks = givenText(source, 'beanstalks', 'host:port,host:port');
  const redis = givenText(source, 'redis', 'redis://… or rediss://…');
  const prefix = givenText(source, 'prefix', 'a prefix');
  const tls = givenTls(source, file.tls);
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
      context === undefined
        ? `No ${name} given: expected --${name}, ${variableOf(name)}, or a file with \`${name}\`.`
        : `Context ${context} has no \`${name}\`: expected it there, or --${name}.`,
    );
  }
  return options;
}

/** Fills in the defaults. A command reports its failures itself, so nothing is logged. */
export function resolveSettings(options: DqOptions): ResolvedOptions {
  const logger = { log: silent, warn: silent, error: silent };
  try {
    return realEnvironment.resolve({ ...options, consume: false }, logger, undefined);
  } catch (error) {
    throw new WrongArguments(`${factOf(error as DqError)}.`, { cause: error });
  }
}

/** Where single values come from, besides a file or a context. */
interface Source {
  readonly args: Arguments;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** Returns the option `tls`, each field read from its flag, the environment or the file. Undefined if nothing is given. */
function givenTls(source: Source, inFile: TlsOptions | undefined): TlsOptions | undefined {
  const servername = givenText(source, 'tls-servername', 'a host name');
  const given = {
    ...content(source, 'ca'),
    ...content(source, 'cert'),
    ...content(source, 'key'),
    ...(servername !== undefined && { servername }),
  };
  return Object.keys(given).length === 0 ? inFile : { ...inFile, ...given };
}

function content(source: Source, field: 'ca' | 'cert' | 'key'): TlsOptions {
  const path = givenText(source, `tls-${field}`, 'the path of a PEM file');
  return path === undefined ? {} : { [field]: readFlagFile(source.args, `tls-${field}`, path) };
}

/** Returns the value of a flag, or of its variable, such as DQ_TLS_CA for `tls-ca`. An empty variable counts as unset. */
function givenText({ args, environment }: Source, flag: string, expected: string): string | undefined {
  const variable = environment[variableOf(flag)];
  return args.text(flag, expected) ?? (variable === '' ? undefined : variable);
}

function variableOf(flag: string): string {
  return `DQ_${flag.toUpperCase().replaceAll('-', '_')}`;
}
