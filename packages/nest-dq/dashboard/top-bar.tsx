import { useTypedText } from './parts/typed-text.js';
import { liveState } from './state/live.js';
import { go, route } from './state/router.js';
import { t } from './words/language.js';

/** Search, and whether the page is live. */
export function TopBar() {
  const state = liveState.value;
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
      <div class="live" data-state={state} role="status">
        <i aria-hidden="true" />
        <span>{t(`app.live.${state}`)}</span>
      </div>
    </header>
  );
}
