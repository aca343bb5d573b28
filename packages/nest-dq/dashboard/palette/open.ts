import { createElement } from 'preact';
import { askOnDemand } from '../pages/load-on-demand.js';
import { showDialog } from '../state/dialog.js';

/** Opens the search. */
export function openPalette(): void {
  void askOnDemand(({ Palette }) => showDialog(createElement(Palette, {})));
}

/** Shows all shortcuts. */
export function openShortcuts(): void {
  void askOnDemand(({ ShortcutsDialog }) => showDialog(createElement(ShortcutsDialog, {})));
}
