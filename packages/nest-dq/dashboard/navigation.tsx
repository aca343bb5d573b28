import { PAGES } from './pages/pages.js';
import { live } from './state/live.js';
import { hashOf } from './state/route.js';
import { may, session } from './state/session.js';
import { language, speak, t } from './words/language.js';
import { count } from './words/say.js';

/** The names of the pages, with what needs a look. */
export function NavigationBar({ current }: { readonly current: string }) {
  const tubes = live.value?.tubes?.tubes ?? [];
  const dead = tubes.reduce((sum, tube) => sum + (tube.dead ?? 0), 0);
  const hasKafka = (session.value?.kafka.length ?? 0) > 0;
  const pages = PAGES.filter(({ hidden, kafka }) => !hidden && (!kafka || hasKafka));
  return (
    <nav class="side" aria-label={t('app.nav')}>
      <div class="brand">{t('app.name')}</div>
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
        <label>
          <span class="unseen">{t('app.language')}</span>
          <select
            value={language.value}
            onChange={({ currentTarget }) => speak(currentTarget.value === 'zh' ? 'zh' : 'en')}
          >
            <option value="en">English</option>
            <option value="zh">中文</option>
          </select>
        </label>
        {session.value && <span>{t('app.version', { version: session.value.version })}</span>}
      </div>
    </nav>
  );
}
