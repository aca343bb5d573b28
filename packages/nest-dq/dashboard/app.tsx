import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { InterruptedBar } from './acts/interrupted-bar.js';
import { listenForShortcuts } from './keys/listen.js';
import { NavigationBar } from './navigation.js';
import { PAGES, preloadPages } from './pages/pages.js';
import { Failure } from './parts/failure.js';
import { useLoad } from './parts/load.js';
import { closeDialog, shownDialog } from './state/dialog.js';
import { keepPlaces } from './state/kept.js';
import { cutSince, listen } from './state/live.js';
import { notice } from './state/notice.js';
import { route } from './state/router.js';
import { loadSession } from './state/session.js';
import { StatusBar, Tab } from './status/status-bar.js';
import { TopBar } from './top-bar.js';
import { t } from './words/language.js';

/** The frame of all pages. */
export function App() {
  const session = useLoad(loadSession, []);
  useEffect(listen, []);
  useEffect(listenForShortcuts, []);
  const isReady = session.data !== undefined;
  useEffect(() => {
    if (isReady) preloadPages();
  }, [isReady]);
  const main = useRef<HTMLElement>(null);
  const name = route.value.path[0] ?? 'timeline';
  const page = PAGES.find((each) => each.path === name);
  useLayoutEffect(() => keepPlaces(main.current!), []);
  useEffect(closeDialog, [route.value]);
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
        <div class="head-bars">
          <TopBar />
          <StatusBar />
        </div>
        <Tab name={page && t(page.title)} />
        <main id="main" tabIndex={-1} ref={main} class={cutSince.value === undefined ? undefined : 'old'}>
          <InterruptedBar />
          {session.error && <Failure error={session.error} />}
          {Page ? <Page key={name} /> : <p>{t('app.noPage')}</p>}
        </main>
      </div>
      {shownDialog.value}
      <div class="notices" role="status">
        {notice.value && <p class={notice.value.bad ? 'notice bad' : 'notice'}>{notice.value.text}</p>}
      </div>
    </div>
  );
}
