import { type Arguments, type Flags, readConfigFile, WrongArguments } from 'nest-handlers/cli';
import { type DqError, factOf } from '../errors.js';
import { realEnvironment } from '../nest/environment.js';
import type { DqOptions, ResolvedOptions } from '../nest/options.js';
import { note } from './process.js';
import type { TlsOptions } from '../nest/tls-option.js';
import { readFlagFile } from './flag-file.js';

/** For commands that connect to nodes over TLS. A flag would expose a passphrase, so it is only read from the config file. */
const TLS_FLAGS: Flags = {
  'tls-ca': {
    value: 'FILE',
    help: 'trusted authorities for tls:// nodes, in PEM (or DQ_TLS_CA)',
  },
  'tls-cert': { value: 'FILE', help: 'client certificate (or DQ_TLS_CERT)' },
  'tls-key': { value: 'FILE', help: 'private key of the client certificate (or DQ_TLS_KEY)' },
  'tls-servername': {
    value: 'NAME',
    help: "name in the nodes' certificates, if different from the host (or DQ_TLS_SERVERNAME)",
  },
};

/** For commands that connect to a cluster. */
export const CONNECTION_FLAGS: Flags = {
  beanstalks: {
    value: 'LIST',
    help: 'nodes, comma-separated: host:port, tls://host:port or unix:/path (or DQ_BEANSTALKS)',
  },
  ...TLS_FLAGS,
  redis: { value: 'URL', help: 'redis://… or rediss://… (or DQ_REDIS)' },
  prefix: { value: 'PREFIX', help: "the application's `prefix` (or DQ_PREFIX)" },
  config: {
    value: 'FILE',
    help: "JSON file with the application's options (default nest-dq.json, if present)",
  },
};

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

/** Returns the given options. Flags override the environment, which overrides the file. */
export function givenOptions(args: Arguments): DqOptions {
  const file: DqOptions = readConfigFile(args, { byDefault: DEFAULT_FILE, names: IN_FILE, doubt: note });
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
      `No ${name} given: expected --${name}, ${variableOf(name)}, or a file with \`${name}\`.`,
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

/** Returns the option `tls`, each field read from its flag, the environment or the file. Undefined if nothing is given. */
function givenTls(args: Arguments, inFile: TlsOptions | undefined): TlsOptions | undefined {
  const servername = givenText(args, 'tls-servername', 'a host name');
  const given = {
    ...content(args, 'ca'),
    ...content(args, 'cert'),
    ...content(args, 'key'),
    ...(servername !== undefined && { servername }),
  };
  return Object.keys(given).length === 0 ? inFile : { ...inFile, ...given };
}

function content(args: Arguments, field: 'ca' | 'cert' | 'key'): TlsOptions {
  const path = givenText(args, `tls-${field}`, 'the path of a PEM file');
  return path === undefined ? {} : { [field]: readFlagFile(args, `tls-${field}`, path) };
}

/** Returns the value of a flag, or of its variable, such as DQ_TLS_CA for `tls-ca`. An empty variable counts as unset. */
function givenText(args: Arguments, flag: string, expected: string): string | undefined {
  const variable = process.env[variableOf(flag)];
  return args.text(flag, expected) ?? (variable === '' ? undefined : variable);
}

function variableOf(flag: string): string {
  return `DQ_${flag.toUpperCase().replaceAll('-', '_')}`;
}
