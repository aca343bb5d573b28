import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { ActName } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { closeDialog, shownDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { blockedText } from './blocked.js';
import { toneOf } from './tone.js';

/** The confirmation of an act in a dialog. */
export interface Confirming {
  /** Look of the button that confirms. */
  readonly tone: 'main' | 'bad';
  /** Why it can't work now; undefined if it can. */
  readonly blocked: string | undefined;
  readonly isPending: boolean;
  /** Why it failed the last time. */
  readonly error: Error | undefined;
  /**
   * Does the work, unless it is blocked or in progress, and closes the dialog. If the work resolves with an error, the dialog stays,
   * with all that was typed. The work never rejects.
   */
  readonly confirm: (work: () => Promise<Error | undefined>) => Promise<void>;
}

export function useConfirming(act: ActName): Confirming {
  const own = useRef(shownDialog.peek());
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<Error>();
  const blocked = blockedText(act);
  const confirm: Confirming['confirm'] = async (work) => {
    if (isPending || blocked !== undefined) return;
    setPending(true);
    setError(undefined);
    const failure = await work();
    setPending(false);
    setError(failure);
    if (!failure && shownDialog.peek() === own.current) closeDialog();
  };
  return { tone: toneOf(act), blocked, isPending, error, confirm };
}

/** A form in a dialog: its end has what stands in the way, and the buttons to leave and to confirm. */
export function ConfirmForm({
  confirming: { tone, blocked, isPending, error, confirm },
  label,
  disabled,
  work,
  children,
}: {
  readonly confirming: Confirming;
  /** Label of the button that confirms. */
  readonly label: string;
  readonly disabled?: boolean;
  /** See `Confirming.confirm`. */
  readonly work: () => Promise<Error | undefined>;
  readonly children: ComponentChildren;
}) {
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!disabled) void confirm(work);
      }}
    >
      {children}
      {error && <Failure error={error} />}
      <Blocked text={blocked} />
      <div class="buttons">
        <button type="button" class="button" onClick={closeDialog}>
          {t('act.cancel')}
        </button>
        <button
          class={`button ${tone}`}
          disabled={disabled}
          aria-busy={isPending}
          aria-disabled={isPending || blocked !== undefined}
          title={blocked}
        >
          {label}
        </button>
      </div>
    </form>
  );
}

/** Says why a dialog can't be confirmed now. */
export function Blocked({ text }: { readonly text: string | undefined }) {
  return (
    <p class="blocked" role="status">
      {text}
    </p>
  );
}
