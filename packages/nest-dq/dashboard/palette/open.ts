import { createElement } from 'preact';
import { askOnDemand } from '../pages/load-on-demand.js';
import { showDialog } from '../state/dialog.js';
import { Palette } from './palette.js';

/** Opens the search at once: whoever pressed its shortcut types on. */
export function openPalette(): void {
  showDialog(createElement(Palette, {}));
}

/** Shows the viewer's settings. */
export function openSettings(): void {
  void askOnDemand(({ SettingsDialog }) => showDialog(createElement(SettingsDialog, {})));
}

/** Shows all shortcuts. */
export function openShortcuts(): void {
  void askOnDemand(({ ShortcutsDialog }) => showDialog(createElement(ShortcutsDialog, {})));
}
