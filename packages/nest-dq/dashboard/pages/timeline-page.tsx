import { t } from '../words/language.js';

/** What comes due. */
export function TimelinePage() {
  return <h1>{t('nav.timeline')}</h1>;
}
