import { PAGES } from '../pages/pages.js';
import { openPalette, openShortcuts } from '../palette/open.js';
import { go } from '../state/router.js';
import { session } from '../state/session.js';
import { shortcuts } from '../state/settings.js';
import { isPaletteKey, KeyReader, type Shortcut } from './keys.js';
import { moveInList, refreshList, selectInList } from './lists.js';

/** Listens for shortcuts until the returned function is called. There are none while somebody types, or a dialog is open. */
export function listenForShortcuts(): () => void {
  const reader = new KeyReader(
    Object.fromEntries(PAGES.flatMap(({ key, path }) => (key === undefined ? [] : [[key, path]]))),
  );
  const press = (event: KeyboardEvent) => {
    if (event.isComposing || event.defaultPrevented || document.querySelector('dialog[open]')) return;
    if (isPaletteKey(event)) {
      event.preventDefault();
      return openPalette();
    }
    if (shortcuts.value === 'off' || isTyping(event.target)) return;
    const shortcut = reader.read(event, event.timeStamp);
    if (shortcut !== undefined && act(shortcut)) event.preventDefault();
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

/** Returns whether there was something to do. */
function act(shortcut: Shortcut): boolean {
  switch (shortcut) {
    case 'search':
      openPalette();
      return true;
    case 'help':
      openShortcuts();
      return true;
    case 'next':
      return moveInList(1);
    case 'previous':
      return moveInList(-1);
    case 'select':
      return selectInList();
    case 'refresh':
      return refreshList();
    default: {
      const { page } = shortcut;
      const isThere = !PAGES.find(({ path }) => path === page)?.kafka || session.value?.kafka.length;
      if (isThere) go([page]);
      return true;
    }
  }
}

const TYPED = 'textarea, select, [contenteditable], input:not([type="checkbox"])';

/** A field of a dialog that has just been closed may have the focus until the browser renders again. */
function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof Element &&
    target.closest(TYPED) !== null &&
    target.closest('dialog:not([open])') === null
  );
}
