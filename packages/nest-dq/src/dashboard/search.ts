import { isRefText } from '../copies/job-ref.js';
import type { DqRuntime } from '../nest/runtime.js';
import type { SearchResult } from '../operate/search.js';
import { Input, jobRef, text } from './input.js';

/** What a person has of a job leads to it, or, as an id and a key need their tube, to the jobs that it names. */
export async function search(
  { inspector, options }: DqRuntime,
  query: Input,
): Promise<{ ref: string } | SearchResult> {
  const given = query.must('text', text).trim();
  const ref = refIn(given);
  if (ref === undefined) return inspector.search(given);
  jobRef(new Input('the search', { ref }, ['ref']), options.prefix); // or it throws
  return { ref };
}

/** The `ref` in what a person pastes: the text itself, or a receipt as JSON. Undefined: it may be an id or a key. */
export function refIn(given: string): string | undefined {
  if (isRefText(given)) return given;
  if (!given.startsWith('{')) return undefined;
  let receipt: unknown;
  try {
    receipt = JSON.parse(given);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // a key may begin so, too
    throw error;
  }
  const { ref } = receipt as { readonly ref?: unknown };
  return typeof ref === 'string' ? ref : undefined;
}
