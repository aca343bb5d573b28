import { modifier } from './keys/modifier.js';
import { openPalette } from './palette/open.js';
import { Environment } from './parts/environment.js';
import { deadLetters } from './state/live.js';
import { isMenuOpen, MENU_ID } from './state/menu.js';
import { StatusPill } from './status/status-bar.js';
import { t } from './words/language.js';
import { count } from './words/say.js';

/** Search, and whether all is well; on a phone also the environment and the button of the menu. */
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
      <div class="phone">
        <Environment />
        <button
          class="button menu"
          aria-expanded={isMenuOpen.value}
          aria-controls={MENU_ID}
          onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
        >
          {t('app.menu')}
          {deadLetters.value > 0 && <span class="count bad">{count(deadLetters.value)}</span>}
        </button>
      </div>
    </header>
  );
}
