import type { GoQueueProcess } from 'test-servers';
import type { Line } from '../log.js';
import type { Task } from '../task.js';
import type { GoFates } from './fates.js';

/** A consumer process with go-queue, whose runs become lines of the outside log. */
export class GoConsumer {
  /** The job of each handler at work, with the name of its run. */
  private readonly working = new Map<number, string>();
  private runs = 0;
  private dead = false;

  constructor(
    readonly name: string,
    private readonly process: GoQueueProcess,
    private readonly fates: GoFates,
  ) {}

  /** As of the last read. */
  get busy(): boolean {
    return !this.dead && this.working.size > 0;
  }

  /** Resolves when the process is gone. Idempotent. */
  async kill(): Promise<void> {
    this.dead = true;
    await this.process.kill();
  }

  /** The lines since the last call. */
  read(): Line[] {
    const lines: Line[] = [];
    for (const { what, at, body } of this.process.events()) {
      const { job, generation } = JSON.parse(body) as Task;
      this.fates.note(job, what);
      if (what === 'runs') {
        const run = `${this.name}/${++this.runs}`;
        this.working.set(job, run);
        const fence = Math.round(at * 1000);
        const start = { what: 'start', run, process: this.name, job, generation, attempt: 1, fence } as const;
        lines.push({ ...start, dueAt: at, lateness: 0, at });
      } else if (what === 'done' || what === 'failed') {
        const run = this.working.get(job)!;
        this.working.delete(job);
        lines.push({ what: 'end', run, how: what === 'done' ? 'done' : 'fail', at });
      }
    }
    return lines;
  }
}
