import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { closeDialog, shownDialog } from '../state/dialog.js';

/** The browser keeps the focus inside, gives it back, and closes it with Escape. */
export function Dialog({
  title,
  kind,
  children,
  onClose,
}: {
  readonly title: string;
  /** The palette shows no title, and closes with a click outside it. */
  readonly kind?: 'palette';
  readonly children: ComponentChildren;
  readonly onClose?: () => void;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const own = useRef(shownDialog.peek());
  const id = useId();
  // Before the browser paints, so that it takes the next key press.
  useLayoutEffect(() => element.current?.showModal(), []);
  return (
    <dialog
      ref={element}
      class={kind}
      aria-labelledby={id}
      onClick={({ target, currentTarget }) => kind && target === currentTarget && currentTarget.close()}
      onClose={() => {
        onClose?.();
        // The browser reports the close later: by then another dialog may be open.
        if (shownDialog.peek() === own.current) closeDialog();
      }}
    >
      <h2 id={id} class={kind && 'unseen'}>
        {title}
      </h2>
      {children}
    </dialog>
  );
}
