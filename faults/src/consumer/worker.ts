import { setTimeout as pause } from 'node:timers/promises';
import {
  DelayedHandler,
  Discard,
  type BatchHandlerOptions,
  type DelayedJob,
  type LimitOptions,
} from 'nest-dq';
import type { TubeWire } from 'nest-dq/go-queue';
import { machineTime } from '../clock.js';
import type { End, LogWriter } from '../log.js';
import { tasks, type Act, type Task } from '../task.js';

/** Does what the payload of a job says, and logs each start, abort and end. It becomes a handler by `handles`. */
export class Worker {
  private runs = 0;

  constructor(
    private readonly name: string,
    private readonly log: LogWriter,
  ) {}

  /** Runs the jobs of a batch at once. */
  runAll(all: readonly Task[], jobs: readonly DelayedJob<Task>[]): Promise<unknown> {
    return Promise.allSettled(all.map((task, i) => this.run(task, jobs[i]!)));
  }

  async run(task: Task, job: DelayedJob<Task>): Promise<unknown> {
    const run = `${this.name}/${++this.runs}`;
    const { attempt, fence, lateness, signal } = job;
    this.log.write({
      what: 'start',
      run,
      process: this.name,
      job: task.job,
      generation: task.generation,
      attempt,
      fence,
      dueAt: job.dueAt.getTime(),
      lateness,
      at: machineTime(),
    });
    signal.addEventListener('abort', () =>
      this.log.write({ what: 'abort', run, reason: reasonOf(signal), at: machineTime() }),
    );
    const act = task.acts[Math.min(attempt, task.acts.length) - 1] ?? {};
    const end = (how: End['how']) => this.log.write({ what: 'end', run, how, at: machineTime() });
    await work(act, signal);
    if (signal.aborted && !act.deaf) {
      end('aborted');
      throw signal.reason;
    }
    switch (act.end ?? 'done') {
      case 'done':
        return end('done');
      case 'fail':
        end('fail');
        throw new Error(`job ${task.job} was meant to fail`);
      case 'discard':
        end('discard');
        return Discard.because(`job ${task.job} was meant to be`);
      case 'kill':
        process.kill(process.pid, 'SIGKILL');
        return new Promise(() => undefined);
    }
  }
}

/** Lets the worker run the tasks, with these limits, and in batches if there are some. */
export function handles(
  limit: LimitOptions | undefined,
  wire: TubeWire | undefined,
  batch: BatchHandlerOptions['batch'] | undefined,
): void {
  const { prototype } = Worker;
  const methodOf = (name: keyof Worker) => Object.getOwnPropertyDescriptor(prototype, name)!;
  if (batch) DelayedHandler(tasks(wire), { limit, batch })(prototype, 'runAll', methodOf('runAll'));
  else DelayedHandler(tasks(wire), { limit })(prototype, 'run', methodOf('run'));
}

/** Ends early if the signal aborts, unless the act is deaf. The caller checks the signal. */
async function work({ ms = 0, blocking, deaf }: Act, signal: AbortSignal): Promise<void> {
  if (blocking) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  else if (ms > 0 && deaf) await pause(ms);
  else if (ms > 0) await pause(ms, undefined, { signal }).catch(() => undefined);
}

function reasonOf({ reason }: AbortSignal): string {
  return String((reason as { code?: unknown } | undefined)?.code ?? reason);
}
