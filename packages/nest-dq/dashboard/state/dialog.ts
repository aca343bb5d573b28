import { signal } from '@preact/signals';
import { cloneElement, type VNode } from 'preact';

/** The dialog that is open. */
export const shownDialog = signal<VNode | undefined>(undefined);

let shown = 0;

/** Shows an element of its own, also where one of the same kind has just been closed and is not gone yet. */
export function showDialog(dialog: VNode): void {
  shownDialog.value = cloneElement(dialog, { key: ++shown });
}

export function closeDialog(): void {
  shownDialog.value = undefined;
}
