import { t } from '../words/language.js';
import type { Paged } from './pages.js';

/** Reads the next page of a list. */
export function More({ list: { loading, more } }: { readonly list: Paged<unknown> }) {
  if (!more) return null;
  return (
    <button class="button more" disabled={loading} onClick={more}>
      {t(loading ? 'loading' : 'more')}
    </button>
  );
}
