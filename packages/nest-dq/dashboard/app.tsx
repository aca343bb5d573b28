import { useEffect, useRef } from 'preact/hooks';
import { Failure } from './parts/failure.js';
import { useLoad } from './parts/load.js';
import { NavigationBar } from './navigation.js';
import { PAGES } from './pages/pages.js';
import { TopBar } from './top-bar.js';
import { listen } from './state/live.js';
import { route } from './state/router.js';
import { loadSession } from './state/session.js';
import { t } from './words/language.js';

/** The frame of all pages. */
export function App() {
  const session = useLoad(loadSession, []);
  useEffect(listen, []);
  const main = useRef<HTMLElement>(null);
  const name = route.value.path[0] ?? 'timeline';
  const page = PAGES.find((each) => each.path === name);
  useEffect(() => {
    document.title = `${page ? t(page.title) : ''} · nest-dq`;
  });
  const Page = page?.Page;
  return (
    <div class="frame">
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault(); // the part behind # is the page
          main.current?.focus();
        }}
      >
        {t('app.skip')}
      </a>
      <NavigationBar current={name} />
      <div>
        <TopBar />
        <main id="main" tabIndex={-1} ref={main}>
          {session.error && <Failure error={session.error} />}
          {Page ? <Page /> : <p>{t('app.noPage')}</p>}
        </main>
      </div>
    </div>
  );
}
