import { useState } from 'preact/hooks';
import { tell } from '../state/notice.js';

/** A button that shows that what it began is not over yet. It keeps the focus, and does nothing meanwhile. */
export function PendingButton({
  label,
  about,
  blocked,
  onClick,
}: {
  readonly label: string;
  /** On what, for screen readers, where there are many such buttons. */
  readonly about?: string | undefined;
  /** Why it can't work now: it stays where it is, says so, and does nothing. */
  readonly blocked?: string | undefined;
  /** May return a promise, which never rejects. */
  readonly onClick: () => unknown;
}) {
  const [isPending, setPending] = useState(false);
  const press = async () => {
    if (isPending) return;
    if (blocked !== undefined) return tell(blocked); // a finger sees no title
    const work = onClick();
    if (!(work instanceof Promise)) return;
    setPending(true);
    await work;
    setPending(false);
  };
  return (
    <button
      class="button"
      aria-label={about && `${label} ${about}`}
      aria-busy={isPending}
      aria-disabled={isPending || blocked !== undefined}
      title={blocked}
      onClick={() => void press()}
    >
      {label}
    </button>
  );
}
