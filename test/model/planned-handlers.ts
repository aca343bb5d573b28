import type { DelayedJob } from 'nest-dq/src/api/job.js';
import { Again, Discard, Retry } from 'nest-dq/src/api/outcome.js';
import { parseRef } from 'nest-dq/src/copies/job-ref.js';
import type { History, Start } from './history.js';
import type { Operation, Plan, Script, Step } from './plan.js';
import type { SimulatedProcess } from './simulated-process.js';

/** The handler of all processes. It does what the plan says for the number in the payload. */
export class PlannedHandlers {
  private readonly scripts = new Map<number, Script>();
  private readonly runsOf = new Map<number, number>();

  constructor(
    plan: Plan,
    private readonly history: History,
  ) {
    for (const action of plan.actions) {
      if ('operation' in action) this.learn(action.operation);
    }
  }

  handle(process: SimulatedProcess, payload: number, job: DelayedJob): Promise<unknown> {
    const step = this.nextStep(payload);
    const { born, due } = parseRef(job.ref, '');
    const { id, fence, attempt } = job;
    const { history } = this;
    const start: Start = {
      at: history.now,
      process: process.name,
      payload,
      step,
      id,
      born: born!,
      fence,
      attempt,
      headerDue: due,
      due: job.dueAt.getTime(),
    };
    history.starts.push(start);
    history.log(
      `${process.name} starts ${history.name(id)} payload ${payload} attempt ${attempt}: ${step.ms} ms, ${step.end}`,
    );
    return new Promise((resolve, reject) => {
      const end = (how: Step['end'] | 'aborted') => {
        if (start.ended || process.clock.dead) return;
        start.ended = { at: history.now, how };
        history.log(`${process.name} ends ${history.name(id)}: ${how}`);
        if (how === 'done') resolve(undefined);
        else if (how === 'retry') resolve(Retry.after(step.delay));
        else if (how === 'again') resolve(Again.after(step.delay));
        else if (how === 'discard') resolve(Discard.because('the plan says so'));
        else reject(new Error(how));
      };
      if (step.ms === 0) return end(step.end);
      const timer = process.clock.after(step.ms, () => end(step.end));
      if (!step.heeds) return;
      job.signal.addEventListener('abort', () => {
        timer.cancel();
        end('aborted');
      });
    });
  }

  private learn(operation: Operation): void {
    if (operation.kind === 'add') this.scripts.set(operation.number, operation.script);
    if (operation.kind === 'reschedule' && operation.payload) {
      this.scripts.set(operation.payload.number, operation.payload.script);
    }
  }

  private nextStep(payload: number): Step {
    const script = this.scripts.get(payload)!;
    const run = this.runsOf.get(payload) ?? 0;
    this.runsOf.set(payload, run + 1);
    return script[Math.min(run, script.length - 1)]!;
  }
}
