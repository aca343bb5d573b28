import { t } from '../words/language.js';
import { count } from '../words/say.js';
import type { Paged } from './pages.js';

/** Reads the next page of a list; while none is found, says how far the search is, and stops it. */
export function More({
  list: { items, cut, loading, looked, stop, more },
}: {
  readonly list: Paged<unknown>;
}) {
  return (
    <>
      {cut && <p class="faint small">{t('cut', { shown: count(items.length) })}</p>}
      {stop ? (
        <div class="bar">
          <button class="button" onClick={stop}>
            {t('act.stop')}
          </button>
          <span class="faint" role="status">
            {looked === undefined ? t('loading') : t('list.looked', { looked: count(looked) })}
          </span>
        </div>
      ) : (
        more && (
          <button class="button more" disabled={loading} onClick={more}>
            {t(loading ? 'loading' : 'more')}
          </button>
        )
      )}
    </>
  );
}
