import { useEffect } from 'preact/hooks';
import { browserZoneText } from './figures/times.js';
import { zone } from './figures/zone.js';
import { PAGES } from './pages/pages.js';
import { Environment } from './parts/environment.js';
import { Setting } from './parts/setting.js';
import { deadLetters, now } from './state/live.js';
import { isMenuOpen, MENU_ID } from './state/menu.js';
import { hashOf } from './state/route.js';
import { may, session } from './state/session.js';
import { theme, THEMES } from './state/settings.js';
import { reportFailure } from './state/notice.js';
import { language, speak, t } from './words/language.js';
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
        <ZoneSetting />
        <Setting
          label={t('app.theme')}
          value={theme.value}
          options={THEMES.map((each) => ({ value: each, name: t(`app.theme.${each}`) }))}
          onChange={(each) => (theme.value = each)}
        />
        <Setting
          label={t('app.language')}
          value={language.value}
          options={[
            { value: 'en', name: 'English' },
            { value: 'zh', name: '中文' },
          ]}
          onChange={(each) => void speak(each).catch(reportFailure)}
        />
        {session.value && <span class="version">{t('app.version', { version: session.value.version })}</span>}
      </div>
    </nav>
  );
}

const HOUR = 3_600_000;

/** Names the zone of all times on the page. A browser in UTC leaves no choice. */
function ZoneSetting() {
  const hour = Math.floor(now.value / HOUR) * HOUR; // its offset may change in spring and autumn
  const browser = browserZoneText(hour, language.value);
  if (browser === 'UTC') return <span>{t('app.zone')}: UTC</span>;
  return (
    <Setting
      label={t('app.zone')}
      value={zone.value}
      options={[
        { value: 'browser', name: browser },
        { value: 'utc', name: 'UTC' },
      ]}
      onChange={(each) => (zone.value = each)}
    />
  );
}
