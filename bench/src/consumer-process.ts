import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ConsumerArguments, ConsumerReport } from './consumer/report.js';

const PROGRAM = fileURLToPath(new URL('consumer/main.js', import.meta.url));

/** A consumer in a process of its own. */
export class ConsumerProcess {
  /** What it told, oldest first. */
  readonly reports: ConsumerReport[] = [];

  private constructor(private readonly child: ChildProcess) {
    child.on('message', (report) => this.reports.push(report as ConsumerReport));
  }

  /** Resolves when it consumes. */
  static async start(given: ConsumerArguments): Promise<ConsumerProcess> {
    const child = fork(PROGRAM, [JSON.stringify(given)], { execArgv: ['--enable-source-maps'] });
    const consumer = new ConsumerProcess(child);
    const ready = once(child, 'message').then(() => true);
    if (await Promise.race([ready, once(child, 'exit').then(() => false)])) return consumer;
    throw new Error(`a consumer process of ${given.product} ended before it was ready`);
  }

  /** Runs begun, as far as it told. */
  get count(): number {
    return this.reports.at(-1)?.count ?? 0;
  }

  /** The first report from that instant on, in ms since 1970; the last one where there is none. */
  reportAt(instant: number): ConsumerReport {
    return this.reports.find(({ at }) => at >= instant) ?? this.reports.at(-1)!;
  }

  /** Ends it; resolves when it is gone. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}
