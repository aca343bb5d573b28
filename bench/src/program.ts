import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Where all goes that it prints, as stdout has the tables. */
const STDERR = 2;

/** A program of this package in a process of its own. Its argument is JSON, and it sends reports, which are cloned. */
export class Program<Report> {
  /** Its reports, oldest first. */
  readonly reports: Report[] = [];

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (report) => this.reports.push(report as Report));
  }

  /** `path` starts at this folder. Resolves when the first report has come. */
  static async start<Report>(path: string, given: unknown): Promise<Program<Report>> {
    const file = fileURLToPath(new URL(path, import.meta.url));
    const argument = JSON.stringify(given);
    const child = fork(file, [argument], {
      execArgv: ['--enable-source-maps'],
      serialization: 'advanced',
      stdio: ['ignore', STDERR, STDERR, 'ipc'],
    });
    const program = new Program<Report>(child);
    const ready = once(child, 'message').then(() => undefined);
    const exit = once(child, 'exit').then(([code, signal]) => `${signal ?? `exit status ${code}`}`);
    const end = await Promise.race([ready, exit]);
    if (end === undefined) return program;
    throw new Error(`${path} exited before it was ready (${end}): ${argument}`);
  }

  /** Kills the process; resolves when it is gone. */
  async stop(): Promise<void> {
    await this.gone(() => this.child.kill('SIGKILL'));
  }

  /** Lets go of the process, which has things to close; resolves when it is gone. Rejects if it fails, or failed before. */
  async end(): Promise<void> {
    await this.gone(() => this.child.disconnect());
    if (this.child.exitCode !== 0) throw new Error(`${this.child.spawnargs[2]} failed`);
  }

  private async gone(act: () => void): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    act();
    await exit;
  }
}
