// Finds the server programs of this machine, and installs them where that is simple and safe.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installWithApt } from './apt.js';

/** Also the names of Debian's packages. */
const PROGRAMS = ['beanstalkd', 'redis-server'] as const;

export type ProgramName = (typeof PROGRAMS)[number];

/** What is asked of a machine. Specs give another one. */
export interface Host {
  /** The program's path, or undefined. */
  find(name: ProgramName): string | undefined;
  /** Installs these packages; absent where we may not, or do not know how. */
  install?(packages: readonly ProgramName[]): Promise<void>;
}

/** Where programs are although the PATH of a user, or of an editor, does not say so. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** The machine we run on; installs on Debian and its like, and only as root. */
export const thisHost: Host = {
  find: (name) => findProgram(name, [...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS]),
  ...(process.getuid?.() === 0 && existsSync('/etc/debian_version') ? { install: installWithApt } : {}),
};

/**
 * The paths of both programs. Missing ones are installed with apt-get on Debian and Ubuntu when we are root;
 * anywhere else it throws one sentence that says how to get them.
 */
export async function ensureServers(host: Host = thisHost): Promise<Record<ProgramName, string>> {
  return {
    beanstalkd: await ensureProgram('beanstalkd', host),
    'redis-server': await ensureProgram('redis-server', host),
  };
}

/** The path of one program; when it is missing, both are installed. */
export async function ensureProgram(name: ProgramName, host: Host = thisHost): Promise<string> {
  if (host.find(name) === undefined) await host.install?.(PROGRAMS);
  const path = host.find(name);
  if (path === undefined) throw new Error(howToGet(name));
  return path;
}

/** The first folder's executable file of this name. */
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
    return false; // absent and not ours to run come to the same
  }
}

function howToGet(name: ProgramName): string {
  return (
    `${name} was not found: install with \`apt-get install beanstalkd redis-server\` (Debian, Ubuntu) ` +
    'or `brew install beanstalkd redis` (macOS).'
  );
}
