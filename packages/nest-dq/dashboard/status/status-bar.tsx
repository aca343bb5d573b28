import { computed } from '@preact/signals';
import { useEffect, useId, useState } from 'preact/hooks';
import { Coded } from '../parts/coded.js';
import { cutSince, live, liveState, now } from '../state/live.js';
import { inEnvironment } from '../state/session.js';
import { t } from '../words/language.js';
import { duration, fullTime, time } from '../words/say.js';
import { entriesOf, type Entry } from './entries.js';
import { wordsOf } from './entry-words.js';
import { iconOf } from './icon.js';

/** All problems, worst first. */
export const entries = computed(() => entriesOf(live.value?.problems, cutSince.value));

/** The worst, if it needs somebody. What is deliberate, such as a pause, doesn't. */
const worst = computed(() => {
  const first = entries.value[0];
  return first?.level === 'note' ? undefined : first;
});

/** Whether all is well, and whether the page is live. */
export function StatusPill() {
  const isCut = cutSince.value !== undefined;
  const state = isCut ? 'lost' : liveState.value;
  const isCalm = live.value !== undefined && worst.value === undefined;
  // The unknown isn't well.
  const noneDied = live.value?.tubes?.tubes.every(({ dead }) => dead === 0) ?? false;
  const isWell = isCalm && entries.value.length === 0 && noneDied;
  // Each connection ends from time to time, and the next one follows at once.
  const isLive = !isCut && live.value !== undefined && state !== 'hidden';
  return (
    <div class="live" data-state={isLive ? (isWell ? 'well' : 'open') : state} role="status">
      <i aria-hidden="true" />
      <span>{isLive ? liveText(isWell, isCalm) : t(`app.live.${state}`)}</span>
    </div>
  );
}

/** A pause or a dead letter is no alarm, but then not all is well. */
function liveText(isWell: boolean, isCalm: boolean): string {
  if (isWell) return t('status.well');
  return t(isCalm ? 'status.calm' : 'app.live.open');
}

/** The one problem that matters, on every page, and the others behind it. Nothing while all is well. */
export function StatusBar() {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const first = worst.value;
  if (!first) return null;
  const others = entries.value.slice(1);
  return (
    <section class="status" data-level={first.level} data-kind={first.kind} aria-label={t('status')}>
      <div class="first">
        <Line entry={first} isFirst />
        {others.length > 0 && (
          <button
            class="button"
            aria-expanded={isOpen}
            aria-controls={id}
            onClick={() => setOpen((last) => !last)}
          >
            {t('status.more', { more: others.length })} <span aria-hidden="true">{isOpen ? '▴' : '▾'}</span>
          </button>
        )}
      </div>
      <ul id={id} hidden={!isOpen || others.length === 0}>
        {others.map((entry, i) => (
          <li key={i} data-level={entry.level}>
            <span class="mark" aria-hidden="true">
              {MARKS[entry.level]}
            </span>
            <Line entry={entry} />
          </li>
        ))}
      </ul>
    </section>
  );
}

const MARKS = { failure: '✖', warning: '⚠', note: 'ⓘ' } as const;

/** A problem: since when, its effect, what to do. Screen readers don't hear the seconds pass. */
export function Line({ entry, isFirst }: { readonly entry: Entry; readonly isFirst?: boolean }) {
  const { what, whole, detail, since, effect, todo, link } = wordsOf(entry);
  return (
    <p class="problem" role={isFirst ? 'status' : undefined}>
      <b title={whole}>{what}</b>{' '}
      {since !== undefined && (
        <span title={fullTime(since)}>
          {t('status.since', { time: time(since) })}{' '}
          <span class="for" aria-hidden="true">
            ({duration(Math.max(1, Math.floor((now.value - since) / 1_000)) * 1_000)})
          </span>{' '}
        </span>
      )}
      {detail && <span class="detail">{detail}</span>} <span class="effect">{effect}</span>{' '}
      <span class="todo">
        <span aria-hidden="true">→ </span>
        <Coded text={todo} />
      </span>{' '}
      <a href={link} target="_blank" rel="noreferrer">
        {t('status.runbook')}
      </a>
    </p>
  );
}

/** Shows the worst in the title and the icon of the tab, so that it is seen from another one. */
export function Tab({ name }: { readonly name: string | undefined }) {
  const first = worst.value;
  const page = name === undefined ? t('app.name') : `${name} · ${t('app.name')}`;
  const problem = first && `${first.level === 'failure' ? '✖' : '⚠'} ${wordsOf(first).what} · `;
  const title = inEnvironment(`${problem ?? ''}${page}`);
  const icon = iconOf(first?.level ?? (live.value ? 'well' : 'unknown'));
  useEffect(() => {
    document.title = title;
  }, [title]);
  useEffect(() => {
    document.querySelector<HTMLLinkElement>('link[rel="icon"]')!.href = icon;
  }, [icon]);
  return null;
}
