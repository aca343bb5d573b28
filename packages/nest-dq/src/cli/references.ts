import { type Arguments, counted, Failure, type Flags } from 'nest-handlers/cli';
import type { JobRef } from '../api/job.js';
import { withoutPrefix } from '../api/tube.js';
import { isRefText, parseRef } from '../copies/job-ref.js';
import { DqError } from '../errors.js';
import type { ClusterInspector } from '../operate/inspector.js';

/** Jobs named when several have the same key. */
const MAX_WAYS = 5;

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
    if (ref !== undefined && tube === undefined) return checkedRef(args, ref);
    if (key !== undefined && tube !== undefined) return { tube, key };
    if (id !== undefined && tube !== undefined) return { tube, id };
  }
  const isTwice = names.length > 1 || (ref !== undefined && tube !== undefined);
  throw args.wrong(
    `${isTwice ? 'job given twice' : 'no job given'}: expected REF, or --tube TUBE with --key KEY or --id ID.`,
  );
}

/**
 * As `referenceOf`, but REF may also be the key or id of a job, which is looked for in all tubes: for commands that change
 * nothing. Resolves with undefined if no tube has such a job.
 */
export async function foundReference(
  args: Arguments,
  inspector: Pick<ClusterInspector, 'search'>,
): Promise<JobRef | undefined> {
  const text = args.operand('REF');
  const isAlone = ['tube', 'key', 'id'].every((flag) => args.text(flag, '') === undefined);
  if (text === undefined || !isAlone || isRefText(text)) return referenceOf(args);
  const { jobs, away } = await inspector.search(text);
  const [first, ...others] = jobs;
  if (!first && away.length > 0)
    throw new Failure(
      `no job found for ${text}, but tubes may be missing, no answer from: ${away.join(', ')}`,
      1,
    );
  if (others.length > 0) {
    const ways = jobs.map(
      ({ tube, id, key }) => `--tube ${tube} ${key === undefined ? `--id ${id}` : `--key ${shellWord(key)}`}`,
    );
    const shown = ways.slice(0, MAX_WAYS).join(', or ');
    const more = ways.length > MAX_WAYS ? `, or one of ${ways.length - MAX_WAYS} more` : '';
    throw args.wrong(`${counted(jobs.length, 'job')} found for ${text}: expected ${shown}${more}.`);
  }
  return first && { tube: first.tube, ...(first.key === undefined ? { id: first.id } : { key: first.key }) };
}

/** Quotes a word for a shell, if it has to be. */
function shellWord(word: string): string {
  return /^[\w.:@%+=,/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** The answer of a command whose REF is neither a reference nor the key or id of a job. */
export function unfound(args: Arguments) {
  const text = `no tube has a job with the key or id ${showReference(args)}, as far as is known without the tube`;
  return { json: null, text, status: 1 };
}

function checkedRef(args: Arguments, ref: string): JobRef {
  try {
    parseRef({ ref }, '');
    return { ref };
  } catch (error) {
    if (!(error instanceof DqError)) throw error;
    const shown = showReference(args);
    throw args.wrong(
      isRefText(ref)
        ? `the reference ${shown} is cut off or altered.`
        : `${shown} is not a reference; for a key: --tube TUBE --key ${shown}.`,
    );
  }
}

/** Names the job of an act: by its tube and its key or id, as lists do. */
export function showJobOf(args: Arguments, prefix: string): string {
  const ref = args.operand('REF');
  if (ref === undefined) return showReference(args);
  const { tube, key, id } = parseRef({ ref }, prefix);
  return `${withoutPrefix(tube, prefix)} ${key ?? id}`;
}

/** Formats the reference for a message. */
export function showReference(args: Arguments): string {
  const ref = args.operand('REF');
  if (ref !== undefined) return ref.length > 24 ? `${ref.slice(0, 24)}…` : ref;
  return `${args.text('tube', '')} ${args.text('key', '') ?? args.text('id', '')}`;
}
