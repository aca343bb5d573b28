import { Worker } from 'node:worker_threads';
import { toError } from '../../errors.js';
import { packIds, packRuns, type KeeperMessage, type KeeperThreadData, type KeptRun } from './kept-run.js';
import type { LedgerSettings } from '../ledger.js';
import type { RunRef } from '../requests.js';
import type { ThreadSource } from './thread-source.js';

/** A worker thread as the keeper uses it. */
export interface KeeperThread {
  postMessage(message: KeeperMessage): void;
  unref(): void;
  terminate(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

export type StartKeeperThread = (data: KeeperThreadData) => KeeperThread;

/**
 * Starts the thread of this library. It gets neither the process's `--import` and `--require` nor NODE_OPTIONS: what
 * they start, such as telemetry, runs once in a process.
 */
function startThread(workerData: KeeperThreadData): KeeperThread {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  // A bundler finds the file by these very words.
  return new Worker(new URL('./lease-keeper-thread.js', import.meta.url), {
    name: 'nest-dq leases',
    workerData,
    execArgv: [],
    env,
  });
}

/** Undefined where specs run the sources: only the built library has a file for the thread. */
export const startKeeperThread: StartKeeperThread | undefined = import.meta.url.endsWith('.ts')
  ? undefined
  : startThread;

export interface LeaseKeeperOptions {
  readonly start: StartKeeperThread;
  /** Asked once, with the first run. */
  readonly source: () => ThreadSource;
  readonly settings: LedgerSettings;
  readonly prefix: string;
  /** Is told, once, why leases are not kept. */
  readonly warn: (message: string) => void;
}

/**
 * Keeps the leases of this process's runs while its event loop is blocked, by a thread which is told of each run before
 * its handler is called, and which acts only when nobody renews. The thread begins with the first run, keeps no process
 * alive, and is missed by nobody: without it, a blocked process loses its leases.
 */
export class LeaseKeeper {
  private thread: KeeperThread | undefined;
  private state: 'new' | 'on' | 'off' = 'new';

  constructor(private readonly options: LeaseKeeperOptions) {}

  tube(name: string): TubeKeeper {
    return new TubeKeeper(name, (message) => this.tell(message));
  }

  /** Idempotent. */
  async close(): Promise<void> {
    const { thread } = this;
    this.state = 'off';
    this.thread = undefined;
    await thread?.terminate();
  }

  private tell(message: KeeperMessage): void {
    if (this.state === 'new') this.start();
    this.thread?.postMessage(message);
  }

  private start(): void {
    this.state = 'on';
    try {
      const { start, source, settings, prefix } = this.options;
      // Only these: the settings may be a part of larger options.
      const { lease, doneTtl, staleAfter } = settings;
      const thread = start({ source: source(), settings: { lease, doneTtl, staleAfter }, prefix });
      this.thread = thread;
      thread.unref();
      thread.on('error', (error) => this.failed(error));
      thread.on('exit', () => this.failed(new Error('its thread ended')));
    } catch (thrown) {
      this.failed(toError(thrown));
    }
  }

  private failed(error: Error): void {
    if (this.state === 'off') return;
    this.state = 'off';
    this.thread = undefined;
    this.options.warn(
      `while the event loop is blocked, the leases of running jobs are not renewed: ${error.message}`,
    );
  }
}

/** One tube's runs, as the thread is told of them. */
export class TubeKeeper {
  /** The fences of the runs that the thread knows, by job. */
  private readonly running = new Map<string, number>();
  private ended: string[] = [];

  constructor(
    private readonly tube: string,
    private readonly tell: (message: KeeperMessage) => void,
  ) {}

  /** To be called before anything can run. */
  granted(runs: readonly KeptRun[]): void {
    if (runs.length === 0) return;
    for (const { id, fence } of runs) this.running.set(id, fence);
    this.send(runs, false);
  }

  /** Their end is told with the next message, but at once where nothing runs any more. */
  over(runs: readonly Pick<RunRef, 'id' | 'fence'>[]): void {
    for (const { id, fence } of runs) {
      if (this.running.get(id) !== fence) continue; // the job was granted again meanwhile
      this.running.delete(id);
      this.ended.push(id);
    }
    if (this.running.size === 0 && this.ended.length > 0) this.send([], false);
  }

  /** Nobody speaks of its runs any more. */
  abandoned(): void {
    this.over(Array.from(this.running, ([id, fence]) => ({ id, fence })));
  }

  /** The leases are about to be renewed. */
  beat(): void {
    if (this.running.size > 0) this.send([], true);
  }

  private send(granted: readonly KeptRun[], beat: boolean): void {
    const over = packIds(this.ended);
    this.ended = [];
    this.tell({ tube: this.tube, over, granted: packRuns(granted), beat });
  }
}
