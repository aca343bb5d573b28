import { createElement } from 'preact';
import { onDemandPages } from '../pages/pages.js';
import { showDialog } from '../state/dialog.js';
import { reportFailure } from '../state/notice.js';
import { t } from '../words/language.js';

/** Opens the search. */
export function openPalette(): void {
  void open(async () => (await onDemandPages()).Palette);
}

/** Shows all shortcuts. */
export function openShortcuts(): void {
  void open(async () => (await onDemandPages()).ShortcutsDialog);
}

async function open(load: () => Promise<() => ReturnType<typeof createElement>>): Promise<void> {
  let Content;
  try {
    Content = await load();
  } catch {
    // As for a page: the server is away, or has another version's files by now.
    return reportFailure(new Error(t('app.notLoaded')));
  }
  showDialog(createElement(Content, {}));
}
