import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Place } from './place.js';
import { ensureProgram } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import { ask } from './wire.js';

export interface BeanstalkdOptions {
  /** Whether jobs are stored on disk and survive a kill. @default true */
  binlog?: boolean;
  /** Whether it listens on a socket of the machine, in the folder of its data, and not on its port. @default false */
  socket?: boolean;
  /** The largest job in bytes. @default 65535 */
  maxJobSize?: number;
  /** More arguments for the command line, such as `['-f', '0']`. @default [] */
  args?: string[];
  /** More variables for its environment, which also has those of this process. @default none */
  env?: Readonly<Record<string, string>>;
}

const PORTS = { first: 20_000, last: 29_998 };
const PORT_TAKEN = 111;
const REPLY_LIMIT = 5_000;
/** Runs its arguments as a program. A write beyond the file size limit then fails as on a full disk, and kills nothing. */
const IGNORING_FILE_LIMITS = 'trap "" XFSZ; exec "$0" "$@"';

const run = promisify(execFile);

/** A beanstalkd process on 127.0.0.1. */
export class BeanstalkdServer extends Server {
  /** `127.0.0.1:port`, or `unix:` and the path of its socket. */
  readonly endpoint: string;
  /** Path of its Unix socket. */
  readonly path: string | undefined;

  constructor(
    program: string,
    place: Place,
    private readonly options: BeanstalkdOptions,
  ) {
    super(program, place);
    this.path = options.socket ? join(this.data, 'socket') : undefined;
    this.endpoint = this.path === undefined ? `${this.host}:${this.port}` : `unix:${this.path}`;
  }

  /**
   * Limits the size of each file that it writes, until it is restarted. If the limit is below the size that its log has now,
   * the next record fails. If the limit is below the full size of a log file (the flag -s), it cannot begin a new file.
   */
  async limitFiles(bytes: number): Promise<void> {
    await run('prlimit', ['--pid', String(this.pid), `--fsize=${bytes}:`]);
  }

  /** Limits its open files, which include its connections, until it is restarted or this is called again. */
  async limitOpenFiles(count: number): Promise<void> {
    await run('prlimit', ['--pid', String(this.pid), `--nofile=${count}:`]);
  }

  protected override command(): [file: string, ...args: string[]] {
    const env = Object.entries(this.options.env ?? {}).map(([name, value]) => `${name}=${value}`);
    return ['/usr/bin/env', ...env, '/bin/sh', '-c', IGNORING_FILE_LIMITS, ...super.command()];
  }

  protected override args(): string[] {
    const { binlog = true, maxJobSize, args = [] } = this.options;
    return [
      '-l',
      this.path === undefined ? this.host : this.endpoint,
      '-p',
      String(this.port),
      ...(binlog ? ['-b', this.data] : []),
      ...(maxJobSize === undefined ? [] : ['-z', String(maxJobSize)]),
      ...args,
    ];
  }

  protected override async serves(pid: number): Promise<boolean> {
    const stats = await ask(this, 'stats', REPLY_LIMIT);
    return stats.includes(`\npid: ${pid}\n`);
  }

  protected override foundPortTaken(exit: Exit): boolean {
    return exit.code === PORT_TAKEN;
  }
}

/** Starts a beanstalkd on a free port, with a folder of its own; resolves when it answers commands. */
export async function startBeanstalkd(options: BeanstalkdOptions = {}): Promise<BeanstalkdServer> {
  const program = await ensureProgram('beanstalkd');
  return startSomewhere('beanstalkd', PORTS, (place) => new BeanstalkdServer(program, place, options));
}
