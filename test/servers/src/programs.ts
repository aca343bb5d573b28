// Finds programs on this machine: the servers, and what else the tests run. Installs missing ones where that is simple and safe.
import { accessSync, constants, existsSync, readdirSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installWithApt } from './apt.js';

/** Also the names of Debian's packages. */
const PROGRAMS = ['beanstalkd', 'redis-server'] as const;

export type ProgramName = (typeof PROGRAMS)[number];

/** Programs that come one by one, and the package of Debian and of Homebrew that has each. */
const PACKAGES = {
  /** Checks and tests alert rules. The server in its package is not started. */
  promtool: { debian: 'prometheus', homebrew: 'prometheus' },
  /** The browser that looks at the dashboard. */
  chromium: { debian: 'chromium', homebrew: 'chromium' },
  /** Runs Kafka. */
  java: { debian: 'openjdk-17-jre-headless', homebrew: 'openjdk@17' },
  /** Loads Kafka. */
  mvn: { debian: 'maven', homebrew: 'maven' },
  /** Makes certificates. */
  openssl: { debian: 'openssl', homebrew: 'openssl' },
  /** Takes TLS from clients, and talks to a server without it. Debian has it as `stunnel4`, too. */
  stunnel: { debian: 'stunnel4', homebrew: 'stunnel' },
  /** The database of an example. Debian's package starts one as a service, but not while we install it. */
  postgres: { debian: 'postgresql', homebrew: 'postgresql' },
  /** A database of the outbox's tests, without a service. */
  mariadbd: { debian: 'mariadb-server-core', homebrew: 'mariadb' },
} as const;

export type PackagedName = keyof typeof PACKAGES;

/** The parts of a machine that this needs. Specs have one of their own. */
export interface Host {
  /** The program's path, or undefined. */
  find(name: ProgramName | PackagedName): string | undefined;
  /** Installs these packages. Absent if we are not allowed to, or do not know how. */
  install?(packages: readonly string[]): Promise<void>;
}

/** Folders with programs that the PATH of a user or of an editor may lack. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** Debian has PostgreSQL's programs outside of the PATH, in a folder of each version. */
const POSTGRES = '/usr/lib/postgresql';

/** The folders of PostgreSQL's programs, the newest version first. */
function postgresFolders(): string[] {
  if (!existsSync(POSTGRES)) return [];
  const versions = readdirSync(POSTGRES).toSorted((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(POSTGRES, version, 'bin'));
}

/** This machine. It can install on Debian and Ubuntu, and only as root. */
export const thisHost: Host = {
  find: (name) =>
    findProgram(name, [...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS, ...postgresFolders()]),
  ...(process.getuid?.() === 0 && existsSync('/etc/debian_version') ? { install: installWithApt } : {}),
};

/**
 * The paths of both programs. On Debian and Ubuntu, this installs missing ones with apt-get if we are root. Otherwise it
 * throws an error that says how to install them.
 */
export async function ensureServers(host: Host = thisHost): Promise<Record<ProgramName, string>> {
  return {
    beanstalkd: await ensureProgram('beanstalkd', host),
    'redis-server': await ensureProgram('redis-server', host),
  };
}

/** The path of one program. If it is missing, this installs both. */
export async function ensureProgram(name: ProgramName, host: Host = thisHost): Promise<string> {
  if (host.find(name) === undefined) await host.install?.(PROGRAMS);
  const path = host.find(name);
  if (path === undefined) throw new Error(howToGet(name, PROGRAMS.join(' '), 'beanstalkd redis'));
  return path;
}

/** The path of a program. If it is missing, this installs its package in the same way as the servers. */
export async function ensurePackaged(name: PackagedName, host: Host = thisHost): Promise<string> {
  const { debian, homebrew } = PACKAGES[name];
  if (host.find(name) === undefined) await host.install?.([debian]);
  const path = host.find(name);
  if (path === undefined) throw new Error(howToGet(name, debian, homebrew));
  return path;
}

/** The path of the executable file with this name in the first folder that has one. */
export function findProgram(name: string, folders: readonly string[]): string | undefined {
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // it does not exist, or we are not allowed to run it
  }
}

function howToGet(name: string, debian: string, homebrew: string): string {
  return (
    `${name} was not found; install it with \`apt-get install ${debian}\` (Debian, Ubuntu) ` +
    `or \`brew install ${homebrew}\` (macOS).`
  );
}
