import type { ActName } from '../../src/dashboard/wire.js';
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
  readonly onClick: () => void;
}) {
  if (!may(act)) return null;
  const blocked = blockedBy();
  const isBlocked = blocked === 'connection' || (blocked === 'ledger' && !act.startsWith('kafka'));
  return (
    <button
      class="button"
      aria-label={about && `${label} ${about}`}
      aria-disabled={isBlocked || undefined}
      title={isBlocked ? t(`blocked.${blocked}`) : undefined}
      onClick={isBlocked ? undefined : onClick}
    >
      {label}
    </button>
  );
}
