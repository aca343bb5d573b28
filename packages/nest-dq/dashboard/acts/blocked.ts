import type { ActName } from '../../src/dashboard/wire.js';
import { blockedBy } from '../state/live.js';
import { t } from '../words/language.js';

/** Why an act can't work now; undefined if it can. Those of Kafka need no ledger. */
export function blockedText(act: ActName): string | undefined {
  const reason = blockedBy();
  const isBlocked = reason === 'connection' || (reason === 'ledger' && !act.startsWith('kafka'));
  return isBlocked ? t(`blocked.${reason}`) : undefined;
}
