import type { DqError } from 'nest-dq/src/errors.js';
import { crashed } from './excuses.js';
import type { Simulation } from './simulation.js';

/** Every call ended, with an answer or with an error of the library. */
export function callsAnswered({ history }: Simulation): string[] {
  const found: string[] = [];
  for (const { number, operation, process, ended, error } of history.calls) {
    if (ended === undefined && !crashed(history, process, 0)) {
      found.push(`hangs: #${number} ${operation.kind}`);
    }
    if (error && !(error as DqError).code?.startsWith('DQ_')) found.push(`error: #${number} ${error.stack}`);
  }
  return found;
}
