// One run of a server: a child process that never outlives this process, and its output.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from './waiting.js';

/**
 * Reads from a pipe that this process holds open. The read ends only when this process ends, also by SIGKILL. Then the guard
 * kills the server and removes its folder.
 */
const GUARD = 'read -r _ || { kill -9 "$1"; rm -rf "$2"; }';
const END_LIMIT = 10_000;
const TAIL = 2_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class ServerProcess {
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** How the process ended; undefined while it runs. */
  exit: Exit | undefined;

  private constructor(
    private readonly child: ChildProcess & { readonly pid: number },
    private readonly output: string,
  ) {
    this.pid = child.pid;
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.exit = { code, signal };
        resolve(this.exit);
      });
    });
  }

  /** Starts the program with its output in a file of the folder. Resolves when it is spawned, before it is ready. */
  static async spawn(file: string, args: readonly string[], folder: string): Promise<ServerProcess> {
    const output = join(folder, 'output.log');
    const log = openSync(output, 'a');
    // detached: Ctrl-C in a terminal ends the whole process group, but the user of this class decides when a server ends
    const child = spawn(file, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    if (!isSpawned(child)) {
      const [error] = (await once(child, 'error')) as [Error];
      throw new Error(`${file} could not be started: ${error.message}`, { cause: error });
    }
    const process = new ServerProcess(child, output);
    process.guard(folder);
    return process;
  }

  /** Throws when the process has ended. */
  signal(signal: NodeJS.Signals): void {
    if (!this.child.kill(signal)) throw new Error(`process ${this.pid} is gone: it cannot get ${signal}`);
  }

  /** Resolves when the process is gone. */
  async kill(signal: NodeJS.Signals, limit = END_LIMIT): Promise<void> {
    if (!this.exit) this.child.kill(signal);
    await within(limit, `process ${this.pid} to end after ${signal}`, this.exited);
  }

  /** The end of its output. */
  async lastOutput(): Promise<string> {
    return (await readFile(this.output, 'utf8')).slice(-TAIL).trim();
  }

  private guard(folder: string): void {
    const guard = spawn('/bin/sh', ['-c', GUARD, 'guard', String(this.pid), folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    guard.unref();
    guard.once('error', () => this.child.kill('SIGKILL')); // no server without its guard
    this.child.once('exit', () => {
      guard.kill('SIGKILL'); // before its pipe closes: otherwise it could kill a new process with the same id
      guard.stdin.destroy();
    });
  }
}

function isSpawned(child: ChildProcess): child is ChildProcess & { readonly pid: number } {
  return child.pid !== undefined;
}
