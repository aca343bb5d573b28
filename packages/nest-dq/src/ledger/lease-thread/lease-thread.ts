import { Worker } from 'node:worker_threads';
import { toError } from '../../errors.js';
import { packIds, packRuns, type LeaseMessage, type LeaseWorkerData, type RunLease } from './run-lease.js';
import type { LedgerSettings } from '../ledger.js';
import type { RunRef } from '../requests.js';
import type { ThreadSource } from './thread-source.js';

/** The worker thread as the LeaseThread sees it. */
export interface LeaseWorker {
  postMessage(message: LeaseMessage): void;
  unref(): void;
  terminate(): Promise<unknown>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
}

export type StartLeaseWorker = (data: LeaseWorkerData) => LeaseWorker;

/**
 * Starts the thread without the process's `--import`, `--require` and NODE_OPTIONS, because what they load, such as telemetry,
 * must run only once per process.
 */
function startThread(workerData: LeaseWorkerData): LeaseWorker {
  const { NODE_OPTIONS: _options, ...env } = process.env;
  // Bundlers look for exactly this expression.
  return new Worker(new URL('./lease-worker.js', import.meta.url), {
    name: 'nest-dq leases',
    workerData,
    execArgv: [],
    env,
  });
}

/** Undefined when specs run the sources: only the built library has a file for the thread. */
export const startLeaseWorker: StartLeaseWorker | undefined = import.meta.url.endsWith('.ts')
  ? undefined
  : startThread;

interface LeaseThreadOptions {
  readonly start: StartLeaseWorker;
  /** Called once, at the first run. */
  readonly source: () => ThreadSource;
  readonly settings: LedgerSettings;
  readonly prefix: string;
  /** Called once with the reason if leases aren't renewed. */
  readonly warn: (message: string) => void;
}

/**
 * The main thread's side of the thread that renews leases while the event loop is blocked. It announces each run to the thread
 * before its handler is called. The thread starts with the first run and doesn't keep the process alive. Everything works without
 * the thread, but a blocked process loses its leases.
 */
export class LeaseThread {
  private thread: LeaseWorker | undefined;
  private state: 'new' | 'on' | 'off' = 'new';

  constructor(private readonly options: LeaseThreadOptions) {}

  tube(name: string): TubeLeases {
    return new TubeLeases(name, (message) => this.post(message));
  }

  /** Idempotent. */
  async close(): Promise<void> {
    const { thread } = this;
    this.state = 'off';
    this.thread = undefined;
    await thread?.terminate();
  }

  private post(message: LeaseMessage): void {
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
      `leases of running jobs are not renewed while the event loop is blocked: ${error.message}`,
    );
  }
}

/** Informs the thread of one tube's runs. */
export class TubeLeases {
  /** The fence of the run the thread knows, by job. */
  private readonly running = new Map<string, number>();
  private ended: string[] = [];

  constructor(
    private readonly tube: string,
    private readonly tell: (message: LeaseMessage) => void,
  ) {}

  /** Must be called before the handlers. */
  granted(runs: readonly RunLease[]): void {
    if (runs.length === 0) return;
    for (const { id, fence } of runs) this.running.set(id, fence);
    this.send(runs, false);
  }

  /** The end of a run waits for the next message; the end of the last run is sent at once. */
  over(runs: readonly Pick<RunRef, 'id' | 'fence'>[]): void {
    for (const { id, fence } of runs) {
      if (this.running.get(id) !== fence) continue; // the job was granted again meanwhile
      this.running.delete(id);
      this.ended.push(id);
    }
    if (this.running.size === 0 && this.ended.length > 0) this.send([], false);
  }

  /** Nobody will renew or complete the runs of this tube. */
  abandoned(): void {
    this.over(Array.from(this.running, ([id, fence]) => ({ id, fence })));
  }

  /** The main thread is about to renew the leases. */
  beat(): void {
    if (this.running.size > 0) this.send([], true);
  }

  private send(granted: readonly RunLease[], beat: boolean): void {
    const over = packIds(this.ended);
    this.ended = [];
    this.tell({ tube: this.tube, over, granted: packRuns(granted), beat });
  }
}
