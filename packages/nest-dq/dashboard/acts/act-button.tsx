import type { ActName } from '../../src/dashboard/wire.js';
import { may } from '../state/session.js';

/** The button of an act, for those who may do it. `about`: on what, for screen readers, where there are many such buttons. */
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
  return (
    <button class="button" aria-label={about && `${label} ${about}`} onClick={onClick}>
      {label}
    </button>
  );
}
