import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ConsumerArguments } from './consumer/main.js';
import { LogReader, type Line } from './log.js';

const PROGRAM = fileURLToPath(new URL('consumer/main.js', import.meta.url));

/** A consumer in a process of its own, which can be killed and frozen. Its log stays after its end. */
export class ConsumerProcess {
  /** Resolves when the process is gone. */
  readonly exited: Promise<void>;
  private readonly log: LogReader;

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
   * Resolves when its application consumes. Its log and its output are files in the folder. Its log uses the machine's clock
   * also if its own is wrong.
   */
  static async start(folder: string, how: Omit<ConsumerArguments, 'log'>): Promise<ConsumerProcess> {
    const { name } = how;
    const log = join(folder, `${name}.log`);
    const output = openSync(join(folder, `${name}.output`), 'a');
    const given: ConsumerArguments = { ...how, log };
    const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM, JSON.stringify(given)], {
      stdio: ['ignore', output, output, 'ipc'],
      detached: true, // Ctrl-C in a terminal reaches the whole process group; here the lab decides
    });
    closeSync(output);
    const consumer = new ConsumerProcess(name, child, log);
    const ready = once(child, 'message').then(() => true);
    if (await Promise.race([ready, consumer.exited])) return consumer;
    throw new Error(`consumer ${name} ended before it was ready`);
  }

  /** False when its process is gone. */
  get alive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Sends the signal; resolves when the process is gone. A frozen one takes only SIGKILL. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    this.child.kill(signal);
    await this.exited;
  }

  /** Stops all of the process until `thaw`. */
  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** The lines that its handlers wrote since the last call. */
  read(): Line[] {
    return this.log.read();
  }

  /** Kills it if it lives. Idempotent. */
  async stop(): Promise<void> {
    await this.end('SIGKILL');
    this.log.close();
  }
}
