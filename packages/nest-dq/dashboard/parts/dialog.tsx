import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { closeDialog, shownDialog } from '../state/dialog.js';

/** The browser keeps the focus inside, gives it back, and closes it with Escape. */
export function Dialog({
  title,
  children,
  onClose,
}: {
  readonly title: string;
  readonly children: ComponentChildren;
  readonly onClose?: () => void;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const own = useRef(shownDialog.peek());
  const id = useId();
  useEffect(() => element.current?.showModal(), []);
  return (
    <dialog
      ref={element}
      aria-labelledby={id}
      onClose={() => {
        onClose?.();
        // The browser reports the close later: by then another dialog may be open.
        if (shownDialog.peek() === own.current) closeDialog();
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}
