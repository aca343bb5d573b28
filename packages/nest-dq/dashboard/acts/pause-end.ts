import { fromField } from '../figures/times.js';

/** How long a pause lasts: until somebody ends it, for a while, or until a time. */
export const PAUSE_ENDS = ['resumed', 'quarter', 'hour', 'at'] as const;
export type PauseEnd = (typeof PAUSE_ENDS)[number];

const LENGTHS = { quarter: 15 * 60_000, hour: 60 * 60_000 } as const;

/**
 * Returns the options of the act, or undefined if the field has no time.
 * @param field Value of a time field; only `at` needs it.
 * @param now The server's time, in ms.
 */
export function pauseUntil(
  end: PauseEnd,
  field: string,
  now: number,
): { readonly until?: string } | undefined {
  if (end === 'resumed') return {};
  if (end !== 'at') return { until: new Date(now + LENGTHS[end]).toISOString() };
  const until = fromField(field);
  return until === undefined ? undefined : { until };
}
