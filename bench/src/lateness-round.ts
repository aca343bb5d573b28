import { alignClock, machineTime } from './clock.js';
import { addBeforeDue, CONCURRENCY, dueAfterAdding } from './drain-round.js';
import { payloads } from './payload.js';
import { RunCount } from './run-count.js';
import type { System } from './systems/system.js';
import { pause } from './waiting.js';

export interface Load {
  /** Jobs a second, spread evenly. */
  readonly rate: number;
  readonly seconds: number;
  /** How long a handler runs, in ms. */
  readonly handler: number;
}

export interface Lateness {
  /** Milliseconds from each job's due time to the start of its handler; negative: early. */
  readonly samples: Float64Array;
}

/** The consumer is there, and all jobs are stored, before the first job is due. */
export async function latenessRound(system: System, { rate, seconds, handler }: Load): Promise<Lateness> {
  const jobs = rate * seconds;
  const samples = new Float64Array(jobs);
  const runs = new RunCount(jobs);
  const queue = system.newQueue();
  alignClock();
  const stop = await system.client.consume(
    queue,
    (payload) => {
      samples[payload.n] = machineTime() - payload.due;
      runs.add(payload);
      return handler > 0 ? pause(handler) : undefined;
    },
    CONCURRENCY,
  );
  const begin = dueAfterAdding(jobs, system);
  await addBeforeDue(
    system,
    queue,
    payloads(jobs, (n) => begin + Math.floor((1000 * n) / rate)),
  );
  await runs.done;
  await stop();
  return { samples };
}
