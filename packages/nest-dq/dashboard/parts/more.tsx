import { t } from '../words/language.js';
import { count } from '../words/say.js';
import type { Paged } from './pages.js';

/** Reads the next page of a list. */
export function More({ list: { items, cut, loading, more } }: { readonly list: Paged<unknown> }) {
  return (
    <>
      {cut && <p class="faint small">{t('cut', { shown: count(items.length) })}</p>}
      {more && (
        <button class="button more" disabled={loading} onClick={more}>
          {t(loading ? 'loading' : 'more')}
        </button>
      )}
    </>
  );
}
