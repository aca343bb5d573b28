import type { NewTimeWire } from '../../src/dashboard/wire.js';
import { fromField } from '../figures/times.js';

/** How a person says when jobs are to run. */
export type NewTimeKind = 'delay' | 'at' | 'later' | 'earlier';

/** Returns undefined if the text doesn't fit the kind. The server parses durations such as 90s and 90m. */
export function newTimeOf(kind: NewTimeKind, text: string): NewTimeWire | undefined {
  if (kind === 'at') {
    const at = fromField(text);
    return at === undefined ? undefined : { at };
  }
  const duration = text.trim();
  if (duration === '') return undefined;
  if (kind === 'delay') return { delay: duration };
  return kind === 'later' ? { later: duration } : { earlier: duration };
}
