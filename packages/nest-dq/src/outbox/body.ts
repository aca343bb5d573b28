// The body of a row, as JSON: a version, and the call to make.
import type { JobRef, RevokeOptions } from '../api/job.js';
import type { PlannedJob, PlannedMove } from '../producer/planned-job.js';
import { DqError, show } from '../errors.js';

/** The call that the relay makes for a row. */
export type RowAct =
  | {
      readonly act: 'add';
      readonly job: PlannedJob;
      /** Whether the key is the row's own. */ readonly own: boolean;
    }
  | { readonly act: 'revoke'; readonly ref: JobRef; readonly options: RevokeOptions }
  | { readonly act: 'reschedule'; readonly move: PlannedMove };

const VERSION = 1;

export function writeBody(row: RowAct): string {
  return JSON.stringify({ v: VERSION, ...row });
}

/** Throws `DQ_BAD_OPTION` for what this version can't read. */
export function readBody(body: unknown): RowAct {
  const read = parsed(String(body));
  const isKnown = ['add', 'revoke', 'reschedule'].includes(read?.act as string);
  if (read?.v === VERSION && isKnown) return read as unknown as RowAct;
  throw new DqError(
    'DQ_BAD_OPTION',
    `the row is ${show(body)}: expected one that this version of nest-dq wrote`,
  );
}

function parsed(body: string): { v?: unknown; act?: unknown } | undefined {
  try {
    const read: unknown = JSON.parse(body);
    return typeof read === 'object' && read !== null ? read : undefined;
  } catch {
    return undefined; // readBody throws
  }
}
