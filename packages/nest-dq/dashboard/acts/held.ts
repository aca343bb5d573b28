import type { ExplanationCase } from '../../src/operate/explanation.js';
import { live } from '../state/live.js';
import type { TubeProblemWire } from '../status/entries.js';
import { causeText } from '../status/entry-words.js';
import { t } from '../words/language.js';

/** Why a due job doesn't run, as the problem of its tube: moving it to the present changes nothing. */
export const HELD_CASES: { readonly [Case in ExplanationCase]?: TubeProblemWire['code'] } = {
  paused: 'paused',
  'not-consumed': 'no-consumer',
  'not-reserving': 'not-reserving',
  limited: 'limited',
  'slots-full': 'slots-full',
};
const HELD: readonly TubeProblemWire['code'][] = [
  ...Object.values(HELD_CASES),
  'rate-limited',
  'group-limited',
];

/** Why "Run now" has no effect on a due job of the tube; undefined if it may have one. */
export function heldText(tube: string): string | undefined {
  const problem = live.value?.problems.tubes.find((each) => each.tube === tube);
  if (!problem || !HELD.includes(problem.code)) return undefined;
  return t('blocked.due', { reason: causeText(problem.code) });
}
