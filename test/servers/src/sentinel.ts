// A Sentinel of Redis, which watches a master, and makes its replica the master when it is gone.
import { access, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Certificate } from './certificate.js';
import type { Place } from './place.js';
import { ensureProgram } from './programs.js';
import { clientOf, tlsSettings, writeTlsFiles } from './redis-tls.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';
import { ask, type Address } from './wire.js';

export interface SentinelOptions {
  /** Name of the master for clients. */
  readonly name: string;
  /** The master at its first start. */
  readonly master: Address;
  /** How many have to agree that the master is gone. @default 1 */
  readonly quorum?: number;
  /** Its certificate, for clients and for the servers that it watches. @default no TLS */
  readonly tls?: Certificate;
}

const PORTS = { first: 20_000, last: 29_998 };
const REPLY_LIMIT = 5_000;

/** A Sentinel process on 127.0.0.1. */
export class SentinelServer extends Server {
  readonly tls: Address['tls'];

  constructor(
    program: string,
    place: Place,
    private readonly options: SentinelOptions,
  ) {
    super(program, place);
    this.tls = options.tls && clientOf(options.tls);
  }

  /** A line of what it knows of the master, as `status=ok,address=127.0.0.1:20000,slaves=1,sentinels=2`. */
  async known(): Promise<string> {
    return /^master0:(.*?)\r?$/m.exec(await ask(this, 'INFO sentinel'))?.[1] ?? '';
  }

  protected override async prepare(): Promise<void> {
    const { name, master, quorum = 1, tls } = this.options;
    if (tls) await writeTlsFiles(this.data, tls);
    const settings = {
      bind: this.host,
      dir: this.data,
      ...(tls ? tlsSettings(this.data, this.port, true) : { port: String(this.port) }),
      'sentinel monitor': `${name} ${master.host} ${master.port} ${quorum}`,
      'sentinel down-after-milliseconds': `${name} 1000`,
      'sentinel failover-timeout': `${name} 5000`,
    };
    // It writes into the file what it learns.
    const isThere = await access(this.config).then(
      () => true,
      () => false,
    );
    const lines = Object.entries(settings).map(([setting, value]) => `${setting} ${value}\n`);
    if (!isThere) await writeFile(this.config, lines.join(''));
  }

  protected override args(): string[] {
    return [this.config, '--sentinel'];
  }

  protected override async serves(pid: number): Promise<boolean> {
    return (await ask(this, 'INFO server', REPLY_LIMIT)).includes(`\nprocess_id:${pid}\r\n`);
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  private get config(): string {
    return join(this.data, 'sentinel.conf');
  }
}

/** Starts a Sentinel on a free port; resolves when it answers commands. */
export async function startSentinel(options: SentinelOptions): Promise<SentinelServer> {
  const program = await ensureProgram('redis-server');
  return startSomewhere('sentinel', PORTS, (place) => new SentinelServer(program, place, options));
}
