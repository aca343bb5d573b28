import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { ConsumerWord } from './consumer.js';

/** A process that handles orders, which can be killed and started again. */
export class ConsumerProcess {
  private child: ChildProcess | undefined;

  constructor(
    private readonly brokers: string,
    private readonly heard: (word: ConsumerWord) => void,
  ) {}

  /** Resolves when its application has started. Rejects if it ends before. */
  async start(): Promise<void> {
    const child = fork(new URL('./consumer.js', import.meta.url), [this.brokers], {
      execArgv: ['--enable-source-maps'],
    });
    this.child = child;
    await new Promise<void>((resolve, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`a consumer exited with ${code ?? signal}`)));
      child.on('message', (word: ConsumerWord) => {
        if (word.what === 'ready') resolve();
        this.heard(word);
      });
    });
  }

  /** Kills the process as a crash would: in the middle of handlers, without notice. */
  async kill(): Promise<void> {
    await this.end('SIGKILL');
  }

  /** As a deployment does: it ends what it handles. Idempotent. */
  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  private async end(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }
}
