import { chown, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from 'node:net';
import type { Place } from './place.js';
import { ensurePackaged } from './programs.js';
import { Server, startSomewhere } from './server.js';
import type { Exit } from './server-process.js';

const PORTS = { first: 20_000, last: 29_998 };
/** Debian's and Alpine's `nobody`. MariaDB doesn't run as root unless `--user` says so. */
const NOBODY = 65_534;
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;

/** A mariadbd process on 127.0.0.1, which lets everybody in. It never syncs: a crash of the machine loses its data. */
export class MariadbServer extends Server {
  /** `mysql://root@127.0.0.1:port/test` */
  readonly url: string;
  private readonly folder: string;
  private readonly isRoot = process.getuid?.() === 0;

  constructor(
    private readonly binary: string,
    place: Place,
  ) {
    super(binary, place);
    this.folder = place.folder;
    this.url = `mysql://root@${this.host}:${this.port}/test`;
  }

  protected override async prepare(): Promise<void> {
    const database = join(this.data, 'test'); // without grants, a folder is all that a database needs
    await mkdir(database, { recursive: true });
    if (this.isRoot) for (const path of [this.folder, this.data, database]) await chown(path, NOBODY, NOBODY);
  }

  protected override command(): [file: string, ...args: string[]] {
    return this.unprivileged(this.binary, ...this.args());
  }

  protected override args(): string[] {
    return [
      '--no-defaults',
      `--datadir=${this.data}`,
      `--bind-address=${this.host}`,
      `--port=${this.port}`,
      `--socket=${join(this.folder, 'socket')}`,
      `--pid-file=${join(this.folder, 'pid')}`,
      '--skip-grant-tables',
      '--skip-networking=0',
      '--skip-name-resolve',
      '--innodb-flush-log-at-trx-commit=0',
      '--innodb-buffer-pool-size=16M',
    ];
  }

  /** Its greeting comes once it takes connections. */
  protected override serves(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, this.host);
      const end = (serves: boolean) => {
        socket.destroy();
        resolve(serves);
      };
      socket.once('data', () => end(true));
      socket.once('error', () => end(false));
      socket.once('close', () => end(false));
    });
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  private unprivileged(file: string, ...args: string[]): [file: string, ...args: string[]] {
    return this.isRoot ? [...AS_NOBODY, file, ...args] : [file, ...args];
  }
}

/** Starts a MariaDB on a free port, with a folder of its own and an empty database `test`. Resolves when it takes connections. */
export async function startMariadb(): Promise<MariadbServer> {
  const program = await ensurePackaged('mariadbd');
  return startSomewhere('mariadb', PORTS, (place) => new MariadbServer(program, place));
}
