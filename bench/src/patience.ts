import { DqError } from 'nest-dq';
import { pause } from './waiting.js';

const TRIES = 3;
/** Milliseconds in between. */
const REST = 2_000;

/**
 * Begins again if too few nodes answered an add in time. Here all nodes share a disk, and a disk that stands still for more
 * than 500 ms holds up all of them. It says so on stderr. Every other failure is a result.
 */
export async function patiently<T>(task: () => Promise<T>, rest = REST): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await task();
    } catch (error) {
      if (tried === TRIES || !(error instanceof DqError && error.code === 'DQ_TOO_FEW_COPIES')) throw error;
      process.stderr.write(`broken off, and begun again: ${error.message}\n`);
      await pause(rest);
    }
  }
}
