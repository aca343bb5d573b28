import type { Place } from './place.js';
import { ensureProgram } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import { ask } from './wire.js';

export interface BeanstalkdOptions {
  /** Whether jobs are kept on disk and survive a kill. @default true */
  binlog?: boolean;
  /** The largest job in bytes. @default 65535 */
  maxJobSize?: number;
  /** More arguments for the command line, such as `['-f', '0']`. @default [] */
  args?: string[];
}

const PORTS = { first: 20_000, last: 29_998 };
const PORT_TAKEN = 111;
const REPLY_LIMIT = 5_000;

/** A beanstalkd process on 127.0.0.1. */
export class BeanstalkdServer extends Server {
  /** `127.0.0.1:port` */
  readonly endpoint: string;

  constructor(
    program: string,
    place: Place,
    private readonly options: BeanstalkdOptions,
  ) {
    super(program, place);
    this.endpoint = `${this.host}:${this.port}`;
  }

  protected override args(): string[] {
    const { binlog = true, maxJobSize, args = [] } = this.options;
    return [
      '-l',
      this.host,
      '-p',
      String(this.port),
      ...(binlog ? ['-b', this.data] : []),
      ...(maxJobSize === undefined ? [] : ['-z', String(maxJobSize)]),
      ...args,
    ];
  }

  protected override async serves(pid: number): Promise<boolean> {
    const stats = await ask(this.port, 'stats', REPLY_LIMIT);
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
