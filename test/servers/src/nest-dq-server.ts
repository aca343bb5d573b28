import type { Place } from './place.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import { ask } from './wire.js';

export interface NestDqServerOptions {
  /** Whether jobs are stored in a folder, synced before each answer, and survive a kill. @default false: in memory */
  folder?: boolean;
}

const PORTS = { first: 20_000, last: 29_998 };
const REPLY_LIMIT = 5_000;

/** A `nest-dq serve` process on 127.0.0.1. */
export class NestDqServer extends Server {
  /** `127.0.0.1:port` */
  readonly endpoint: string;

  constructor(
    private readonly file: string,
    place: Place,
    private readonly options: NestDqServerOptions,
  ) {
    super('nest-dq serve', place);
    this.endpoint = `${this.host}:${this.port}`;
  }

  protected override command(): [file: string, ...args: string[]] {
    return [process.execPath, this.file, ...this.args()];
  }

  protected override args(): string[] {
    return ['serve', '--port', String(this.port), ...(this.options.folder ? ['--dir', this.data] : [])];
  }

  protected override async serves(pid: number): Promise<boolean> {
    return (await ask(this, 'stats', REPLY_LIMIT)).includes(`\npid: ${pid}\n`);
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('the port is taken');
  }
}

/**
 * Starts a `nest-dq serve` on a free port, with a folder of its own; resolves when it answers commands.
 * @param program The file of the command `nest-dq`.
 */
export function startNestDqServer(program: string, options: NestDqServerOptions = {}): Promise<NestDqServer> {
  return startSomewhere('nest-dq-serve', PORTS, (place) => new NestDqServer(program, place, options));
}
