import { chown, readFile, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Place } from './place.js';
import { ensurePackaged } from './programs.js';
import { Server, startSomewhere } from './server.js';
import { ServerProcess, type Exit } from './server-process.js';

const PORTS = { first: 20_000, last: 29_998 };
/** Debian's and Alpine's `nobody`. PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const AS_NOBODY = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] as const;
const STATUS_LINE = 7;

/** A postgres process on 127.0.0.1, which lets everybody in as `postgres`. It never syncs: a crash of the machine loses its data. */
export class PostgresServer extends Server {
  /** `postgres://postgres@127.0.0.1:port/postgres` */
  readonly url: string;
  private readonly folder: string;
  private readonly isRoot = process.getuid?.() === 0;

  constructor(
    private readonly binary: string,
    place: Place,
  ) {
    super(binary, place);
    this.folder = place.folder;
    this.url = `postgres://postgres@${this.host}:${this.port}/postgres`;
  }

  /**
   * By default with the signal that PostgreSQL itself treats as a crash: its processes end at once and write nothing. After
   * SIGKILL their shared memory would stay on the machine. A frozen one has to thaw first.
   */
  override kill(signal: NodeJS.Signals = 'SIGQUIT', limit?: number): Promise<void> {
    return super.kill(signal, limit);
  }

  protected override async prepare(): Promise<void> {
    if (this.isRoot) for (const path of [this.folder, this.data]) await chown(path, NOBODY, NOBODY);
    if ((await readdir(this.data)).length === 0) await this.createCluster();
  }

  protected override command(): [file: string, ...args: string[]] {
    return this.unprivileged(this.binary, ...this.args());
  }

  protected override args(): string[] {
    const settings = {
      listen_addresses: this.host,
      port: this.port,
      unix_socket_directories: '',
      fsync: 'off',
      shared_buffers: '16MB',
      dynamic_shared_memory_type: 'mmap', // in the folder, not in /dev/shm
    };
    return [
      '-D',
      this.data,
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ];
  }

  protected override async serves(pid: number): Promise<boolean> {
    const lines = (await readFile(join(this.data, 'postmaster.pid'), 'utf8')).split('\n');
    return Number(lines[0]) === pid && lines[STATUS_LINE]?.trim() === 'ready';
  }

  protected override foundPortTaken(_exit: Exit, output: string): boolean {
    return output.includes('Address already in use');
  }

  private async createCluster(): Promise<void> {
    const [file, ...args] = this.unprivileged(
      join(dirname(this.binary), 'initdb'),
      `--pgdata=${this.data}`,
      '--username=postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
      '--no-sync',
    );
    const creating = await ServerProcess.spawn(file, args, this.folder);
    const { code } = await creating.exited;
    if (code !== 0) throw new Error(`initdb failed: ${await creating.lastOutput()}`);
  }

  private unprivileged(file: string, ...args: string[]): [file: string, ...args: string[]] {
    return this.isRoot ? [...AS_NOBODY, file, ...args] : [file, ...args];
  }
}

/** Starts a PostgreSQL on a free port, with a folder of its own. Resolves when it takes connections. */
export async function startPostgres(): Promise<PostgresServer> {
  const program = await ensurePackaged('postgres');
  return startSomewhere('postgres', PORTS, (place) => new PostgresServer(program, place));
}
