import type { JobRef } from '../api/job.js';
import type { Arguments, Flags } from './arguments.js';

/** For commands about one job; their operand is `[REF]`. */
export const REFERENCE_FLAGS: Flags = {
  tube: { value: 'TUBE', help: 'without the prefix; with --key, in the place of REF' },
  key: { value: 'KEY', help: 'the key of the job' },
};

/** The job that the arguments name: `REF`, the `ref` of a receipt, or `--tube TUBE --key KEY`. */
export function referenceOf(args: Arguments): JobRef {
  const ref = args.operand('REF');
  const tube = args.text('tube', 'the name of a tube');
  const key = args.text('key', 'the key of a job');
  if (ref !== undefined && tube === undefined && key === undefined) return { ref };
  if (ref === undefined && tube !== undefined && key !== undefined) return { tube, key };
  throw args.wrong(
    `${ref === undefined ? 'no job is named' : 'the job is named twice'}: expected REF, or --tube TUBE --key KEY.`,
  );
}

/** How people see the reference in a message. */
export function showReference(args: Arguments): string {
  const ref = args.operand('REF');
  if (ref !== undefined) return ref.length > 24 ? `${ref.slice(0, 24)}…` : ref;
  return `${args.text('tube', '')} ${args.text('key', '')}`;
}
