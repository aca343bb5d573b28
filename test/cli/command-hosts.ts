import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';

const HOST = join(import.meta.dirname, 'command-host.mjs');

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Processes that run one command after the other, as many processes as commands run at once. */
export class CommandHosts {
  private readonly all: ChildProcess[] = [];
  private readonly free: ChildProcess[] = [];
  private runs = 0;

  /** `folder`: the working directory of the commands. */
  constructor(
    private readonly program: 'nest-dq' | 'nest-kq',
    private readonly folder: string,
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  run(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const host = this.free.pop() ?? this.start();
    return new Promise((resolve, reject) => {
      const ended = () => reject(new Error(`the command ended its process: ${args.join(' ')}`));
      host.once('exit', ended);
      host.once('message', (ran: Ran) => {
        host.off('exit', ended);
        this.free.push(host);
        resolve(ran);
      });
      host.send({ args, env, number: this.runs++ });
    });
  }

  stop(): void {
    for (const host of this.all) host.kill('SIGKILL'); // commands that ended by a signal have left their listeners
  }

  private start(): ChildProcess {
    // Jest asks its workers for colours, which a command would print.
    const { FORCE_COLOR: _, ...others } = process.env;
    const env = { ...others, ...this.env };
    const built = join(import.meta.dirname, '..', '..', 'packages', this.program, 'dist', 'cli.js');
    const host = fork(HOST, [built], {
      cwd: this.folder,
      env,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'], // what a command prints is caught in the process
    });
    this.all.push(host);
    return host;
  }
}
