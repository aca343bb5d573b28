// Common code of the servers: the process may end and start again, and its place stays.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { places, type Place, type PortRange } from './place.js';
import { ServerProcess, type Exit } from './server-process.js';
import { eventually } from './waiting.js';

const START_LIMIT = 60_000;
/** Milliseconds for the threads of a process to notice that they are to stop. */
const FREEZE_LIMIT = 5_000;

export abstract class Server {
  readonly host = '127.0.0.1';
  readonly port: number;
  /** The folder of its data, which survives a kill and a restart. */
  protected readonly data: string;
  private readonly saved: string;
  private process: ServerProcess | undefined;
  private starting: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  /** Starts nothing: `restart` does. */
  constructor(
    private readonly program: string,
    private readonly place: Place,
  ) {
    this.port = place.port;
    this.data = join(place.folder, 'data');
    this.saved = join(place.folder, 'saved');
  }

  /** The id of the process that runs, or ran last. */
  get pid(): number {
    if (!this.process) throw new Error(`${this.program} was never started`);
    return this.process.pid;
  }

  /**
   * Ends the process, by default as a crash does. Resolves when it is gone. Only SIGKILL ends a frozen one.
   * @param limit Milliseconds that it may take. @default 10_000
   */
  async kill(signal: NodeJS.Signals = 'SIGKILL', limit?: number): Promise<void> {
    await this.process?.kill(signal, limit);
  }

  /**
   * Stops all of the process until `thaw`: connections stay open, and nothing answers. Throws if it does not run. On Linux it has
   * stopped when this returns; elsewhere a thread that is at work may still end what it does, if the machine is busy.
   */
  freeze(): void {
    this.signal('SIGSTOP');
    const end = Date.now() + FREEZE_LIMIT;
    while (!hasStopped(this.pid) && Date.now() < end);
  }

  /** Resumes a frozen process. Throws if it does not run. */
  thaw(): void {
    this.signal('SIGCONT');
  }

  /** Kills it if it runs, and starts it on its port and with its data. Resolves when it answers commands. */
  restart(): Promise<void> {
    this.starting = this.start();
    return this.starting;
  }

  /** Removes its data, so that it starts empty. Throws while it runs. */
  async wipe(): Promise<void> {
    if (this.process && !this.process.exit)
      throw new Error(`${this.program} is still running: kill it before wiping its data`);
    await rm(this.data, { recursive: true, force: true });
  }

  /** Makes a copy of its data, as a backup of the disk does. It may run meanwhile. */
  async saveData(): Promise<void> {
    await rm(this.saved, { recursive: true, force: true });
    await cp(this.data, this.saved, { recursive: true });
  }

  /** Replaces its data by the copy that `saveData` made. Throws while it runs. */
  async putBackData(): Promise<void> {
    await this.wipe();
    await cp(this.saved, this.data, { recursive: true });
  }

  /** Ends it and frees its port and its folder, also while it is frozen or starts. It cannot start again. Idempotent. */
  stop(): Promise<void> {
    this.stopping ??= this.end();
    return this.stopping;
  }

  /** Writes what the process reads at its start. The folder of its data is there, and may be empty. */
  protected async prepare(): Promise<void> {}

  protected abstract args(): string[];

  /** The command to spawn: the program with its arguments, or a command that replaces itself by the program. */
  protected command(): [file: string, ...args: string[]] {
    return [this.program, ...this.args()];
  }

  /** Whether the server with this process id serves commands now. Rejects while nobody answers. */
  protected abstract serves(pid: number): Promise<boolean>;

  /** Whether this exit and this output mean that the port was taken. */
  protected abstract foundPortTaken(exit: Exit, output: string): boolean;

  private signal(signal: NodeJS.Signals): void {
    if (!this.process) throw new Error(`${this.program} was never started`);
    this.process.signal(signal);
  }

  private async end(): Promise<void> {
    try {
      await this.kill();
      await Promise.allSettled([this.starting]);
    } finally {
      await this.place.leave();
    }
  }

  private async start(): Promise<void> {
    await this.kill();
    if (this.stopping)
      throw new Error(`${this.program} was stopped and cannot be restarted: start another one`);
    await mkdir(this.data, { recursive: true });
    await this.prepare();
    const [file, ...args] = this.command();
    const process = await ServerProcess.spawn(file, args, this.place.folder);
    this.process = process;
    if (this.stopping) await process.kill('SIGKILL'); // `stop` was called meanwhile; `ready` throws then
    await this.ready(process);
  }

  private async ready(process: ServerProcess): Promise<void> {
    let problem: unknown;
    try {
      await eventually(
        `${this.program} answers on port ${this.port}`,
        async () => {
          // Until our process has bound the port, another server may answer there. So the process id is checked.
          const serves = this.serves(process.pid).catch((error: unknown) => {
            problem = error;
            return false;
          });
          const ready = await Promise.race([serves, process.exited.then(() => false)]);
          if (process.exit) throw new Error(`${this.program} exited before it answered on port ${this.port}`);
          return ready;
        },
        START_LIMIT,
      );
    } catch (error) {
      const output = await process.lastOutput();
      const { exit } = process;
      if (exit && this.foundPortTaken(exit, output)) {
        throw new PortTaken(`port ${this.port} is taken`, { cause: error });
      }
      await process.kill('SIGKILL');
      const end = exit ? ` (${exit.signal ?? `exit status ${exit.code}`})` : '';
      const message = error instanceof Error ? error.message : String(error);
      throw new Error(`${message}${end}; its last output: ${output || 'none'}`, { cause: problem ?? error });
    }
  }
}

class PortTaken extends Error {}

/** Starts a server at the first place whose port is free. If it fails, it leaves no process and no folder. */
export async function startSomewhere<S extends Server>(
  name: string,
  range: PortRange,
  create: (place: Place) => S,
): Promise<S> {
  const [server] = await startTogether(name, range, 1, (free) => free.map(create));
  return server!;
}

/** The same for servers that need each other: a `count` of places at a time, a server at each, started at once. */
export async function startTogether<S extends Server>(
  name: string,
  range: PortRange,
  count: number,
  create: (places: readonly Place[]) => S[],
): Promise<S[]> {
  let free: Place[] = [];
  for await (const place of places(name, range)) {
    free.push(place);
    if (free.length < count) continue;
    const servers = create(free);
    free = [];
    try {
      await Promise.all(servers.map((server) => server.restart()));
      return servers;
    } catch (error) {
      await Promise.all(servers.map((server) => server.stop()));
      if (!(error instanceof PortTaken)) throw error;
    }
  }
  await Promise.all(free.map((place) => place.leave()));
  throw new Error(`no port for ${name}: all from ${range.first} to ${range.last} are taken`);
}

/** Whether no thread of a process runs, as Linux shows it; true elsewhere. */
function hasStopped(pid: number): boolean {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return true;
  return readdirSync(folder).every((thread) => {
    try {
      // The state follows the name, which may contain anything.
      const stat = readFileSync(join(folder, thread, 'stat'), 'utf8');
      return /^[TtZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
    } catch {
      return true; // it has just ended
    }
  });
}
