import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { eventually } from 'test-servers';

const run = promisify(execFile);
export const PROGRAM = join(import.meta.dirname, '..', '..', 'packages', 'nest-dq', 'bin', 'nest-dq.js');

/** Becomes its arguments. A write beyond the limit of a file then fails, as on a full disk, and does not kill. */
const IGNORING_FILE_LIMITS = 'trap "" XFSZ; exec "$0" "$@"';

export interface Settings {
  /** A redirection of the output in shell syntax, instead of to this test. */
  readonly redirect?: string;
  /** JavaScript that the process runs before anything else. */
  readonly first?: string;
  /** More variables for its environment, which also has those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** The working directory. */
  readonly cwd?: string;
  /** The file of the command. @default that of the workspace */
  readonly program?: string;
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The command `nest-dq`, as it was built, in a process of its own. */
export class NestDqProcess {
  stdout = '';
  stderr = '';
  readonly ended: Promise<Ended>;
  private hasEnded = false;
  private readonly child: ChildProcess;

  constructor(
    args: readonly string[],
    { redirect = '', first = '', env, cwd, program = PROGRAM }: Settings = {},
  ) {
    const node = [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(first)}`, program];
    const command = ['-c', `${IGNORING_FILE_LIMITS} ${redirect}`, ...node, ...args];
    const surroundings = { env: { ...process.env, ...env }, ...(cwd !== undefined && { cwd }) };
    this.child = spawn('/bin/sh', command, { stdio: ['ignore', 'pipe', 'pipe'], ...surroundings });
    this.child.stdout!.on('data', (chunk: Buffer) => (this.stdout += String(chunk)));
    this.child.stderr!.on('data', (chunk: Buffer) => (this.stderr += String(chunk)));
    this.ended = once(this.child, 'close').then(([code, signal]) => {
      this.hasEnded = true;
      return { code: code as Ended['code'], signal: signal as Ended['signal'] };
    });
  }

  /** Waits until it serves, and gives its port. */
  async port(): Promise<number> {
    return Number(await this.says(/listens on \S+:(\d+);/));
  }

  /** Waits until it tells this on standard error. */
  async tells(pattern: RegExp): Promise<void> {
    await eventually(`it tells ${pattern}; it said: ${this.stderr}`, () => pattern.test(this.stderr));
  }

  /** Waits until it says this on standard output, and gives the first group of it. */
  async says(pattern: RegExp): Promise<string> {
    const said = () => pattern.exec(this.stdout)?.[1];
    await eventually(`it says ${pattern}; it said: ${this.stdout}${this.stderr}`, () => {
      if (this.hasEnded) throw new Error(`it has ended: ${this.stderr}`);
      return said() !== undefined;
    });
    return said()!;
  }

  /** From now on nobody reads what it prints. */
  closeOutput(): void {
    this.child.stdout!.destroy();
    this.child.stderr!.destroy();
  }

  /** Limits the size of the files it can write. */
  async limitFiles(bytes: number): Promise<void> {
    await run('prlimit', ['--pid', String(this.child.pid), `--fsize=${bytes}:`]);
  }

  /** Bytes: the most memory that it ever had at once. */
  peakMemory(): number {
    const status = readFileSync(`/proc/${this.child.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)![1]) * 1_024;
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
