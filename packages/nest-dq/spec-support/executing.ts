import type { HandlerMethod } from '../src/api/job.js';
import { Executor } from '../src/consumer/run/executor.js';
import { DEFAULT_HANDLER_SETTINGS, type HandlerSettings } from '../src/consumer/run/handler-settings.js';
import type { RunOutcome } from '../src/consumer/run/outcome.js';
import type { Run } from '../src/consumer/run/run.js';
import type { CopyHeader } from '../src/copies/header.js';
import type { Content } from '../src/copies/payload.js';
import { VirtualClock } from 'nest-handlers/testing';
import { heldDelivery, recordingLane } from './recording-lane.js';
import { runOf, tubeContext } from './tube-context.js';

/** An executor, and the outcomes of its runs. */
export class Executing {
  readonly clock = new VirtualClock();
  handler: HandlerMethod = () => undefined;
  ended: [run: Run, outcome: RunOutcome][] = [];
  freed = 0;
  context!: ReturnType<typeof tubeContext>;
  executor = this.make();
  private readonly lane = recordingLane().lane;

  make(settings: Partial<HandlerSettings> = {}): Executor {
    const backoff = { type: 'fixed', delay: 400, max: 400, jitter: 0 } as const;
    const handling = { ...DEFAULT_HANDLER_SETTINGS, attempts: 3, backoff, ...settings };
    const life = { arrived: () => false, changed: () => void this.freed++, copyGone: () => undefined };
    this.context = tubeContext(this.clock, { handling, life });
    return new Executor(this.context, (payload, job) => this.handler(payload, job));
  }

  start(header: Partial<CopyHeader> & { copyId?: string } = {}, attempt = 1, content?: Content): void {
    const delivery = heldDelivery(this.lane, { id: 'a', ...header }, content);
    const run = runOf(delivery, { fence: 77, attempt, due: 1_000 });
    // Notes each end at once, and not a turn later.
    const end = (outcome: RunOutcome) => this.ended.push([run, outcome]);
    Object.defineProperty(run, 'end', { get: () => end, set: () => {} });
    void this.executor.run(run);
  }

  handling(): number {
    return this.context.budget.handling;
  }

  kinds(): RunOutcome['kind'][] {
    return this.ended.map(([, { kind }]) => kind);
  }
}
