// One run of a server: a child process that never outlives this one, and what it printed.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { within } from './waiting.js';

/**
 * Waits on a pipe that this process holds open. Only the death of this process, even by SIGKILL, ends the read;
 * then the server goes, and its folder, which nobody is left to remove.
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
  /** How it ended; undefined while it lives. */
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

  /** Starts the program with its output in a file of the folder; resolves when it is spawned, not yet ready. */
  static async spawn(file: string, args: readonly string[], folder: string): Promise<ServerProcess> {
    const output = join(folder, 'output.log');
    const log = openSync(output, 'a');
    // detached: Ctrl-C in a terminal reaches the whole process group; here our user decides when servers end
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
    if (!this.child.kill(signal)) throw new Error(`process ${this.pid} is gone: it cannot take ${signal}`);
  }

  /** Resolves when the process is gone; at once when it was. */
  async kill(signal: NodeJS.Signals): Promise<void> {
    if (!this.exit) this.child.kill(signal);
    await within(END_LIMIT, `process ${this.pid} to end after ${signal}`, this.exited);
  }

  /** The last that it printed. */
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
      guard.kill('SIGKILL'); // before its pipe closes, else it would kill a process that took the same id
      guard.stdin.destroy();
    });
  }
}

function isSpawned(child: ChildProcess): child is ChildProcess & { readonly pid: number } {
  return child.pid !== undefined;
}
