import { useEffect } from 'preact/hooks';
import { zone } from './figures/zone.js';
import { PAGES } from './pages/pages.js';
import { openSettings } from './palette/open.js';
import { browserZone } from './parts/browser-zone.js';
import { Environment } from './parts/environment.js';
import { deadLetters } from './state/live.js';
import { isMenuOpen, MENU_ID } from './state/menu.js';
import { hashOf } from './state/route.js';
import { may, session } from './state/session.js';
import { t } from './words/language.js';
import { count } from './words/say.js';

/** The names of the pages, with what needs a look. On a phone they are behind a button. */
export function NavigationBar({ current }: { readonly current: string }) {
  const dead = deadLetters.value;
  const hasKafka = (session.value?.kafka.length ?? 0) > 0;
  const pages = PAGES.filter(({ hidden, kafka }) => !hidden && (!kafka || hasKafka));
  const tone = session.value?.environment?.tone ?? '';
  useEffect(() => void (isMenuOpen.value = false), [current]);
  useEffect(() => {
    document.documentElement.dataset['tone'] = tone;
  }, [tone]);
  return (
    <nav id={MENU_ID} class={isMenuOpen.value ? 'side open' : 'side'} aria-label={t('app.nav')}>
      <div class="brand">
        {t('app.name')}
        <Environment />
      </div>
      <div class="pages">
        {pages.map(({ path, title }) => (
          <a key={path} href={hashOf([path])} aria-current={path === current ? 'page' : undefined}>
            {t(title)}
            {path === 'dead' && dead > 0 && <span class="count bad">{count(dead)}</span>}
          </a>
        ))}
      </div>
      <div class="settings">
        {session.value && !session.value.acts.some(may) && <span>{t('app.readOnly')}</span>}
        <ZoneName />
        <button class="button" aria-haspopup="dialog" onClick={openSettings}>
          {t('app.settings')}
        </button>
        {session.value && <span class="version">{t('app.version', { version: session.value.version })}</span>}
      </div>
    </nav>
  );
}

/** Zone of all times on the page. */
function ZoneName() {
  const name = zone.value === 'utc' ? 'UTC' : browserZone();
  return <span class="zone">{`${t('app.zone')}: ${name}`}</span>;
}
