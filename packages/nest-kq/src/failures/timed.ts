import type { Clock, Timer } from 'nest-handlers/time';
import type { RunSignal } from '../consumer/run-signal.js';
import { KqError } from '../errors.js';

/** Milliseconds. For so long a run waits for its handler after its signal has told that time is over. */
const GRACE = 5_000;

export interface TimedOptions {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly timeout: number;
  /** Of the messages, for the error. */
  readonly topic: string;
  readonly run: Pick<RunSignal, 'abort'>;
  /** The handler goes on all the same. */
  readonly overran: () => void;
}

/** Calls, and aborts the run when the timeout is over. Then it throws `KQ_TIMEOUT`, whatever the call still comes to. */
export async function timed(
  { clock, timeout, topic, run, overran }: TimedOptions,
  call: () => unknown,
): Promise<unknown> {
  const fact = `the handler of ${topic} took longer than its timeout of ${timeout} ms`;
  const error = new KqError('KQ_TIMEOUT', fact);
  let late = false;
  let timer: Timer | undefined;
  const given = new Promise<never>((_, reject) => {
    timer = clock.after(timeout, () => {
      late = true;
      run.abort(error);
      // Its order waits for it, as long as it may be about to end.
      timer = clock.after(GRACE, () => {
        overran();
        reject(error);
      });
    });
  });
  const handled = (async () => call())();
  try {
    const returned = await Promise.race([handled, given]);
    if (!late) return returned;
  } catch (thrown) {
    if (!late) throw thrown;
  } finally {
    timer?.cancel();
  }
  throw error; // what it says to the signal is too late
}
