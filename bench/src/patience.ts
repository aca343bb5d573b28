import type { DqErrorCode } from 'nest-dq';
import { pause } from './waiting.js';

const TRIES = 3;
/** Milliseconds between two tries. */
const REST = 2_000;

/**
 * Tries the task again if too few nodes answered an add in time, and says so on stderr. This happens because all nodes share
 * one disk here: if the disk blocks for more than 500 ms, no node can answer. Every other error is a result of the measure.
 */
export async function patiently<T>(task: () => Promise<T>, rest = REST): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await task();
    } catch (error) {
      // By its code, as it may come from another process.
      const { code, message } = error as Partial<Error & { readonly code: DqErrorCode }>;
      if (tried === TRIES || code !== 'DQ_TOO_FEW_COPIES') throw error;
      process.stderr.write(`the round failed; retrying: ${message}\n`);
      await pause(rest);
    }
  }
}
