// Finds programs on this machine: the servers, promtool, and a browser. If they are missing, installs them where that is simple and safe.
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { installWithApt } from './apt.js';

/** Also the names of Debian's packages. */
const PROGRAMS = ['beanstalkd', 'redis-server'] as const;

export type ProgramName = (typeof PROGRAMS)[number];

/** Checks and tests alert rules. */
const PROMTOOL = 'promtool';
/** The package with promtool, of Debian and of Homebrew. Its server is not started. */
const PROMETHEUS = 'prometheus';

/** The browser that looks at the dashboard. Also the name of the package, of Debian and of Homebrew. */
const CHROMIUM = 'chromium';

/** What this needs from a machine. Specs have one of their own. */
export interface Host {
  /** The program's path, or undefined. */
  find(name: ProgramName | typeof PROMTOOL | typeof CHROMIUM): string | undefined;
  /** Installs these packages. Absent if we are not allowed to, or do not know how. */
  install?(packages: readonly (ProgramName | typeof PROMETHEUS | typeof CHROMIUM)[]): Promise<void>;
}

/** Folders with programs that the PATH of a user or of an editor may lack. */
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** This machine. It can install on Debian and Ubuntu, and only as root. */
export const thisHost: Host = {
  find: (name) => findProgram(name, [...(process.env.PATH ?? '').split(delimiter), ...MORE_FOLDERS]),
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

/** The path of promtool. If it is missing, this installs Debian's prometheus in the same way as the servers. */
export function ensurePromtool(host: Host = thisHost): Promise<string> {
  return ensureFromPackage(PROMTOOL, PROMETHEUS, host);
}

/** The path of Chromium. If it is missing, this installs it in the same way as the servers. */
export function ensureChromium(host: Host = thisHost): Promise<string> {
  return ensureFromPackage(CHROMIUM, CHROMIUM, host);
}

async function ensureFromPackage(
  name: typeof PROMTOOL | typeof CHROMIUM,
  from: typeof PROMETHEUS | typeof CHROMIUM,
  host: Host,
): Promise<string> {
  if (host.find(name) === undefined) await host.install?.([from]);
  const path = host.find(name);
  if (path === undefined) throw new Error(howToGet(name, from, from));
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
    `${name} was not found: install with \`apt-get install ${debian}\` (Debian, Ubuntu) ` +
    `or \`brew install ${homebrew}\` (macOS).`
  );
}
