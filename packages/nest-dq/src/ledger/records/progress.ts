import { readShaped, type Shape } from '../foreign-json.js';
import type { RunProgress } from '../requests.js';

export const PROGRESS: Shape = { fields: { fraction: 'number', note: 'text?', at: 'number' } };

/** Parses the progress of a record: none if the text is empty, or isn't what nest-dq writes. */
export function readProgress(text: string): { readonly progress?: RunProgress } {
  const progress = text === '' ? undefined : readShaped<RunProgress>(text, PROGRESS);
  return progress ? { progress } : {};
}
