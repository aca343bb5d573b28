import { modifier } from './keys/modifier.js';
import { openPalette } from './palette/open.js';
import { StatusPill } from './status/status-bar.js';
import { t } from './words/language.js';

/** Search, and whether all is well. */
export function TopBar() {
  return (
    <header class="top">
      <div role="search">
        <button
          class="search"
          aria-haspopup="dialog"
          aria-keyshortcuts="Control+K Meta+K"
          onClick={openPalette}
        >
          <span>{t('app.search')}</span>
          <kbd aria-hidden="true">{modifier === '⌘' ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
      </div>
      <StatusPill />
    </header>
  );
}
