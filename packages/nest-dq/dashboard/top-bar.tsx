import { useTypedText } from './parts/typed-text.js';
import { go, route } from './state/router.js';
import { StatusPill } from './status/status-bar.js';
import { t } from './words/language.js';

/** Search, and whether all is well. */
export function TopBar() {
  const { path, query } = route.value;
  const input = useTypedText(path[0] === 'search' ? (query['q'] ?? '') : '');
  return (
    <header class="top">
      <form
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          const text = input.current?.value.trim() ?? '';
          if (text !== '') go(['search'], { q: text });
        }}
      >
        <input
          ref={input}
          name="q"
          type="search"
          aria-label={t('app.search')}
          placeholder={t('app.search')}
        />
        <button class="button">{t('app.searchGo')}</button>
      </form>
      <StatusPill />
    </header>
  );
}
