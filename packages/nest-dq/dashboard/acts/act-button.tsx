import type { ActName } from '../../src/dashboard/wire.js';
import { PendingButton } from '../parts/pending-button.js';
import { may } from '../state/session.js';
import { blockedText } from './blocked.js';

/**
 * The button of an act, for those who may do it. `about`: on what, for screen readers, where there are many such buttons. While the
 * act can't work, it stays where it is and says why.
 */
export function ActButton({
  act,
  label,
  about,
  blocked,
  onClick,
}: {
  readonly act: ActName;
  readonly label: string;
  readonly about?: string;
  /** Why it can't work, whatever the state of the servers. */
  readonly blocked?: string | undefined;
  /** May return a promise, which never rejects: the button is pending until then. */
  readonly onClick: () => unknown;
}) {
  if (!may(act)) return null;
  return (
    <PendingButton label={label} about={about} blocked={blocked ?? blockedText(act)} onClick={onClick} />
  );
}
