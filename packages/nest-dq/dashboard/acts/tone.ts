import type { ActName } from '../../src/dashboard/wire.js';

/** Acts that can't be taken back. */
const DESTRUCTIVE: ReadonlySet<ActName> = new Set([
  'revoke',
  'revokeMany',
  'abort',
  'discard',
  'discardMany',
  'removeSeries',
  'kafkaDiscard',
  'kafkaDiscardMany',
]);

/** Look of the button that confirms an act. */
export function toneOf(act: ActName): 'main' | 'bad' {
  return DESTRUCTIVE.has(act) ? 'bad' : 'main';
}
