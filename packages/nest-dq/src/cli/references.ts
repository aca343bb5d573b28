import type { Arguments, Flags } from 'nest-handlers/cli';
import type { JobRef } from '../api/job.js';

/** Flags of commands about one job, whose operand is `[REF]`. */
export const REFERENCE_FLAGS: Flags = {
  tube: {
    value: 'TUBE',
    help: 'name of the tube, without the prefix;\ngive it with --key or --id instead of REF',
  },
  key: { value: 'KEY', help: 'key of the job' },
  id: {
    value: 'ID',
    help: 'id of the job; one without a key is found only while\nit is in the index, or once it has started',
  },
};

/** Returns the job named by the arguments: `REF`, the `ref` of a receipt, or `--tube TUBE` with `--key KEY` or `--id ID`. */
export function referenceOf(args: Arguments): JobRef {
  const ref = args.operand('REF');
  const tube = args.text('tube', 'the name of a tube');
  const key = args.text('key', 'the key of a job');
  const id = args.text('id', 'the id of a job');
  const names = [ref, key, id].filter((name) => name !== undefined);
  if (names.length === 1) {
    if (ref !== undefined && tube === undefined) return { ref };
    if (key !== undefined && tube !== undefined) return { tube, key };
    if (id !== undefined && tube !== undefined) return { tube, id };
  }
  const isTwice = names.length > 1 || (ref !== undefined && tube !== undefined);
  throw args.wrong(
    `${isTwice ? 'job given twice' : 'no job given'}: expected REF, or --tube TUBE with --key KEY or --id ID.`,
  );
}

/** Formats the reference for a message. */
export function showReference(args: Arguments): string {
  const ref = args.operand('REF');
  if (ref !== undefined) return ref.length > 24 ? `${ref.slice(0, 24)}…` : ref;
  return `${args.text('tube', '')} ${args.text('key', '') ?? args.text('id', '')}`;
}
