import type { Clock, Timer } from 'nest-handlers/time';
import type { RunSignal } from '../consumer/run-signal.js';
import { KqError } from '../errors.js';

/** How long a run waits for its handler after the signal has aborted. */
const GRACE_MS = 5_000;

export interface TimedOptions {
  readonly clock: Clock;
  /** In ms. */
  readonly timeout: number;
  /** Topic of the messages, for the error. */
  readonly topic: string;
  readonly run: Pick<RunSignal, 'abort'>;
  /** Called when the handler keeps going regardless. */
  readonly overran: () => void;
}

/** Calls, and aborts the run on timeout. Then it throws `KQ_TIMEOUT`, whatever the call returns. */
export async function timed(
  { clock, timeout, topic, run, overran }: TimedOptions,
  call: () => unknown,
): Promise<unknown> {
  const fact = `the handler of ${topic} exceeded its timeout of ${timeout} ms`;
  const error = new KqError('KQ_TIMEOUT', fact);
  let late = false;
  let timer: Timer | undefined;
  const given = new Promise<never>((_, reject) => {
    timer = clock.after(timeout, () => {
      late = true;
      run.abort(error);
      // Its order waits for it while it may be about to end.
      timer = clock.after(GRACE_MS, () => {
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
  throw error; // its reaction to the signal is too late
}
