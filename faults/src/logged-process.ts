import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LogReader, type Line } from './log.js';

/** An application in a process of its own, which can be killed and frozen. Its log stays after its end. */
export class LoggedProcess<L = Line> {
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  private readonly log: LogReader<L>;
  private ending = false;

  private constructor(
    /** The name of the process in the lines of its log. */
    readonly name: string,
    private readonly child: ChildProcess,
    log: string,
  ) {
    this.log = new LogReader(log);
    this.exited = once(child, 'exit').then(() => undefined);
  }

  /**
   * Starts a program of this package, whose path starts at this folder. Its argument is JSON: `how`, and the path of its
   * `log`. Resolves when it says that it is ready. Its log and its output are files in `folder`. Its log uses the machine's
   * clock also if its own is wrong.
   */
  static async start<L = Line>(
    program: string,
    folder: string,
    how: { readonly name: string },
  ): Promise<LoggedProcess<L>> {
    const { name } = how;
    const log = join(folder, `${name}.log`);
    const output = openSync(join(folder, `${name}.output`), 'a');
    const file = fileURLToPath(new URL(program, import.meta.url));
    const child = spawn(process.execPath, ['--enable-source-maps', file, JSON.stringify({ ...how, log })], {
      stdio: ['ignore', output, output, 'ipc'],
      detached: true, // Ctrl-C in a terminal reaches the whole process group; here the lab decides
    });
    closeSync(output);
    const started = new LoggedProcess<L>(name, child, log);
    const ready = once(child, 'message').then(() => true);
    if (await Promise.race([ready, started.exited])) return started;
    throw new Error(`${name} exited before it was ready`);
  }

  /** False when its process is gone. */
  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** How it ended though nobody asked it to; undefined: it has not, or it said that all is well. */
  get accident(): string | undefined {
    const { exitCode, signalCode } = this.child;
    return this.ending || !(signalCode ?? exitCode) ? undefined : `${signalCode ?? `exit code ${exitCode}`}`;
  }

  /** Peak memory (RSS) of the process in bytes, from Linux' /proc. */
  peakMemory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
  }

  /** Sends the signal; resolves when the process is gone. A frozen one takes only SIGKILL. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.ending = true;
    this.child.kill(signal);
    await this.exited;
  }

  /** Sends it a message, which its program understands. */
  tell(message: object): void {
    this.child.send(message);
  }

  /** Stops all of the process until `thaw`. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** The lines that were written since the last call. */
  read(): L[] {
    return this.log.read();
  }

  /** Kills it if it lives. Idempotent. */
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    this.log.close();
  }
}
