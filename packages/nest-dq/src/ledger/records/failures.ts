import { readShaped, type Shape } from '../foreign-json.js';
import type { FailedRun } from '../requests.js';

const FAILURES: Shape = {
  list: {
    fields: {
      attempt: 'number',
      startedAt: 'number',
      took: 'number',
      process: 'text',
      name: 'text',
      message: 'text',
    },
  },
};

/** Parses the failed runs of a record or a letter: none if the text is empty, or isn't what nest-dq writes. */
export function readFailures(text: string): { readonly failures?: readonly FailedRun[] } {
  const failures = text === '' ? undefined : readShaped<FailedRun[]>(text, FAILURES);
  return failures ? { failures } : {};
}
