import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { PrefixSearchWire } from '../../src/dashboard/wire.js';
import { isPaletteKey } from '../keys/keys.js';
import { PAGES } from '../pages/pages.js';
import { Dialog } from '../parts/dialog.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { useLoad } from '../parts/load.js';
import { Stale } from '../parts/stale.js';
import { getData, within } from '../server/requests.js';
import { closeDialog } from '../state/dialog.js';
import { refOf } from '../state/job-address.js';
import { blockedBy, live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { route } from '../state/router.js';
import { session } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { firstChoice, nextOption, type Option, pagesLike, tubesLike } from './options.js';

/** Tubes whose jobs are looked at if no tube is chosen. */
const MAX_TUBES = 10;
/** A shorter text would match most jobs. */
const SHORTEST = 2;
/** Time without a key press after which the server is asked. */
const PAUSE_MS = 200;
/** Beginning of a `ref` and of a receipt: the search page leads straight to the job. */
const REF = /^(dq1\.|dqs\.|\{)/;
const GROUPS = ['pages', 'tubes', 'jobs', 'search'] as const;

type Job = PrefixSearchWire['jobs'][number];

/** Finds pages, tubes and jobs as one types: a combobox, by the pattern of ARIA. */
export function Palette() {
  const { path, query } = route.peek();
  const [text, setText] = useState(path[0] === 'search' ? (query['q'] ?? '') : '');
  const [chosen, setChosen] = useState<string>();
  const typed = text.trim();
  const id = useId();
  const tubes = useTubes();
  const blocked = blockedBy();
  const asks = blocked === undefined && canSearch(typed, tubes.searched);
  const { data, error, loading } = usePrefixed(typed, tubes.searched, asks);
  const jobs = (data?.jobs ?? []).filter(({ key, id: of }) => key?.startsWith(typed) || of.startsWith(typed));
  const options = optionsOf(typed, tubes.all, jobs);
  const active = options.find((each) => each.id === chosen) ?? firstChoice(options, typed);
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => input.current?.select(), []);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [active?.id]);
  const elementOf = (option: Option) => `${id}-${option.id}`;
  const open = ({ href }: Option) => {
    closeDialog();
    location.hash = href;
    document.getElementById('main')?.focus();
  };
  const press = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (isPaletteKey(event)) closeDialog();
    else if (event.key === 'Enter' && active) open(active);
    else if (event.key === 'ArrowDown') setChosen(nextOption(options, active, 1)?.id);
    else if (event.key === 'ArrowUp') setChosen(nextOption(options, active, -1)?.id);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={t('app.searchGo')} kind="palette">
      <input
        ref={input}
        type="text"
        role="combobox"
        autofocus
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="search"
        aria-label={t('app.search')}
        aria-expanded={options.length > 0}
        aria-controls={id}
        aria-autocomplete="list"
        aria-activedescendant={active && elementOf(active)}
        placeholder={t('palette.hint')}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          setChosen(undefined);
        }}
        onKeyDown={press}
      />
      <div id={id} ref={list} class="options" role="listbox" aria-label={t('app.searchGo')}>
        {GROUPS.map((group) => {
          const inside = options.filter((each) => each.group === group);
          if (inside.length === 0) return null;
          return (
            <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
              <div id={`${id}-${group}`} class="group-name" role="presentation">
                {t(`palette.${group}`)}
              </div>
              {inside.map((option) => (
                <div
                  key={option.id}
                  id={elementOf(option)}
                  class="option"
                  role="option"
                  aria-selected={option === active}
                  onMouseDown={(event) => event.preventDefault()} // the focus stays in the field
                  onClick={() => open(option)}
                >
                  <span class={group === 'jobs' ? 'mono long' : 'long'}>{option.label}</span>
                  {group === 'jobs' && <Place job={jobs.find((job) => idOf(job) === option.id)} />}
                </div>
              ))}
            </div>
          );
        })}
      </div>
      {asks && !loading && error && <Failure error={error instanceof Stale ? error.reason : error} />}
      <p class="faint small" role="status">
        {isPart(typed) && blocked && t(`palette.blocked.${blocked}`)}
        {asks && (loading ? t('loading') : !error && data && lookedText(data, tubes))}
      </p>
    </Dialog>
  );
}

function Place({ job }: { readonly job: Job | undefined }) {
  if (!job) return null;
  return (
    <span class="place">
      <span class="faint long">{job.tube}</span> <JobState state={job.state} />
    </span>
  );
}

interface Tubes {
  readonly all: readonly string[];
  /** Those whose jobs are looked at: the one in the address, or those with the most jobs. */
  readonly searched: readonly string[];
}

function useTubes(): Tubes {
  const { path, query } = route.peek();
  const named = path[0] === 'tubes' ? path[1] : query['tube'];
  const views = live.value?.tubes?.tubes ?? [];
  const size = ({ waiting = 0, due = 0, running = 0, dead = 0 }: (typeof views)[number]) =>
    waiting + due + running + dead;
  // Later states would have the same text searched again.
  const searched = useRef<readonly string[]>(undefined);
  if (!searched.current?.length) {
    const largest = views.toSorted((a, b) => size(b) - size(a)).slice(0, MAX_TUBES);
    searched.current = named === undefined ? largest.map(({ tube }) => tube) : [named];
  }
  return { all: views.map(({ tube }) => tube), searched: searched.current };
}

/** Whoever types waits no longer for the jobs: an application that hangs doesn't say so. */
const LIMIT_MS = 5_000;

function usePrefixed(typed: string, tubes: readonly string[], asks: boolean) {
  return useLoad(
    async (signal) => {
      if (!asks) return undefined;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      if (signal.aborted) return undefined;
      const query = { prefix: typed, tubes: tubes.join(',') };
      return within(LIMIT_MS, signal, (limited) =>
        getData<PrefixSearchWire>('search/prefix', query, limited),
      );
    },
    [typed, tubes.join(), asks],
  );
}

function canSearch(typed: string, tubes: readonly string[]): boolean {
  return isPart(typed) && tubes.length > 0;
}

/** Whether it may be the beginning of a key or an id. */
function isPart(typed: string): boolean {
  return typed.length >= SHORTEST && !REF.test(typed);
}

function optionsOf(typed: string, tubes: readonly string[], jobs: readonly Job[]): Option[] {
  const hasKafka = (session.value?.kafka.length ?? 0) > 0;
  const pages = PAGES.filter(({ hidden, kafka }) => !hidden && (!kafka || hasKafka));
  const titled = pages.map(({ path, title }) => ({ path, title: t(title) }));
  return [
    ...pagesLike(titled, typed).map(({ path, title }) => optionOf('pages', path, title, hashOf([path]))),
    ...tubesLike(tubes, typed).map((tube) => optionOf('tubes', tube, tube, hashOf(['tubes', tube]))),
    ...jobs.map((job): Option => {
      const { id, key } = job;
      const href = hashOf(['job'], refOf(job));
      return { id: idOf(job), group: 'jobs', label: key ?? id, href };
    }),
    ...(typed === ''
      ? []
      : [
          optionOf(
            'search',
            'all',
            t('palette.exactly', { text: typed.slice(0, 100) }),
            hashOf(['search'], { q: typed }),
          ),
        ]),
  ];
}

function optionOf(group: Option['group'], name: string, label: string, href: string): Option {
  return { id: `${group}-${encodeURIComponent(name)}`, group, label, href };
}

function idOf({ tube, id }: Job): string {
  return `jobs-${encodeURIComponent(`${tube} ${id}`)}`;
}

/** How far the suggested jobs can be trusted to be all. */
function lookedText(
  { waiting, listed, dead, running, more, jobs }: PrefixSearchWire,
  { searched, all }: Tubes,
): string {
  const some = { tubes: count(searched.length), all: count(all.length) };
  const where =
    searched.length === 1
      ? searched[0]!
      : t(searched.length < all.length ? 'palette.largest' : 'palette.allTubes', some);
  const values = {
    waiting: count(waiting),
    listed: count(listed),
    dead: count(dead),
    running: count(running),
  };
  const looked = t('palette.looked', { ...values, where });
  return more ? `${t('palette.more', { jobs: count(jobs.length) })} ${looked}` : looked;
}
