import type { Clock, Timer } from 'nest-handlers/time';
import { KqError } from '../errors.js';

/** Milliseconds. For so long a run waits for its handler after its signal has told that time is over. */
const GRACE = 5_000;

export interface TimedOptions {
  readonly clock: Clock;
  /** Milliseconds. */
  readonly timeout: number;
  /** Of the messages, for the error. */
  readonly topic: string;
  /** Of the run. */
  readonly signal: AbortSignal;
  /** The handler goes on all the same. */
  readonly overran: () => void;
}

/** Calls with a signal that aborts when the timeout is over. Then it throws `KQ_TIMEOUT`, whatever the call still comes to. */
export async function timed(
  { clock, timeout, topic, signal, overran }: TimedOptions,
  call: (signal: AbortSignal) => unknown,
): Promise<unknown> {
  const fact = `the handler of ${topic} took longer than its timeout of ${timeout} ms`;
  const error = new KqError('KQ_TIMEOUT', fact);
  const late = new AbortController();
  const within = AbortSignal.any([signal, late.signal]);
  let timer: Timer | undefined;
  const given = new Promise<never>((_, reject) => {
    timer = clock.after(timeout, () => {
      late.abort(error);
      // Its order waits for it, as long as it may be about to end.
      timer = clock.after(GRACE, () => {
        overran();
        reject(error);
      });
    });
  });
  const handled = (async () => call(within))();
  try {
    const returned = await Promise.race([handled, given]);
    if (!late.signal.aborted) return returned;
  } catch (thrown) {
    if (!late.signal.aborted) throw thrown;
  } finally {
    timer?.cancel();
  }
  throw error; // what it says to the signal is too late
}
