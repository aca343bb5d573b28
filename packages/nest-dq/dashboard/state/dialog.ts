import { signal } from '@preact/signals';
import type { VNode } from 'preact';

/** The dialog that is open. */
export const shownDialog = signal<VNode | undefined>(undefined);

export function showDialog(dialog: VNode): void {
  shownDialog.value = dialog;
}

export function closeDialog(): void {
  shownDialog.value = undefined;
}
