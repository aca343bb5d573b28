import type { ActName } from '../../src/dashboard/wire.js';
import { PendingButton } from '../parts/pending-button.js';
import { blockedBy } from '../state/live.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';

/**
 * The button of an act, for those who may do it. `about`: on what, for screen readers, where there are many such buttons. While the
 * act can't work, it stays where it is and says why.
 */
export function ActButton({
  act,
  label,
  about,
  onClick,
}: {
  readonly act: ActName;
  readonly label: string;
  readonly about?: string;
  /** May return a promise, which never rejects: the button is pending until then. */
  readonly onClick: () => unknown;
}) {
  if (!may(act)) return null;
  const reason = blockedBy();
  const isBlocked = reason === 'connection' || (reason === 'ledger' && !act.startsWith('kafka'));
  const blocked = isBlocked ? t(`blocked.${reason}`) : undefined;
  return <PendingButton label={label} about={about} blocked={blocked} onClick={onClick} />;
}
