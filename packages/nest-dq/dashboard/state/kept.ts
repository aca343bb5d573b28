// State that a viewer leaves on a page when they follow a link, such as chosen rows: kept for the way back, while the page is open.
import type { StateUpdater } from 'preact/hooks';
import { useRef, useState } from 'preact/hooks';

type Kept = Map<string, unknown>;

/** By entry of the browser's history. */
const entries = new Map<string, Kept>();
const MAX_ENTRIES = 50;

/** State kept for the current entry of the history. A link leads to a new entry, which has nothing yet. */
function current(): Kept {
  const state = history.state as { readonly kept?: string } | null;
  const known = entries.get(state?.kept ?? '');
  if (known) return known;
  const kept: Kept = new Map();
  const name = crypto.getRandomValues(new Uint32Array(2)).join('-');
  history.replaceState({ ...state, kept: name }, '');
  entries.set(name, kept);
  if (entries.size > MAX_ENTRIES) entries.delete(entries.keys().next().value!);
  return kept;
}

/** State kept for the entry at which the component was first shown. Its key has to change with the address. */
export function useEntry(): Kept {
  const entry = useRef<Kept>(undefined);
  return (entry.current ??= current());
}

/** As `useState`, with the value that was there when the viewer left. */
export function useKept<T>(name: string, initial: T): [T, (value: StateUpdater<T>) => void] {
  const kept = useEntry();
  const [value, setValue] = useState<T>(() => (kept.has(name) ? (kept.get(name) as T) : initial));
  kept.set(name, value);
  return [value, setValue];
}

/** How long what is around a link may still move it, in ms. */
const SETTLES_MS = 3_000;

/** Events by which the viewer does something else, which ends the way back. */
const INPUTS = ['keydown', 'pointerdown', 'wheel', 'touchstart'] as const;

/**
 * Leads back to where the viewer left a page, and to the link they followed, as soon as both are there: pages load, and rows come, in
 * steps. A page that is new begins at its top. Returns what ends this.
 */
export function keepPlaces(main: HTMLElement): () => void {
  history.scrollRestoration = 'manual'; // the browser's would come at a time of its own
  let { hash } = location;
  let place = current();
  let way: Way | undefined;
  const end = () => {
    way?.observer.disconnect();
    clearTimeout(way?.settling);
    way = undefined;
  };
  const go = () => {
    if (!way) return;
    const { top, link, at } = way;
    if (top !== undefined && hasRoomFor(top)) {
      scrollTo(0, top);
      delete way.top;
    }
    const target =
      link === undefined ? null : main.querySelector<HTMLElement>(`a[href="${CSS.escape(link)}"]`);
    if (target) {
      // Where it was on the screen. What still comes around it may move it, or was needed to scroll this far.
      if (at !== undefined) scrollBy(0, target.getBoundingClientRect().top - at);
      delete way.top;
      if (way.settling !== undefined) return;
      target.focus({ preventScroll: true });
      way.settling = setTimeout(end, SETTLES_MS);
    }
    if (way.top === undefined && link === undefined) end();
  };
  const leave = () => {
    end();
    const pageOf = (each: string) => each.split('?')[0];
    const isOther = pageOf(location.hash) !== pageOf(hash);
    ({ hash } = location);
    place = current();
    const [top, link, at] = [place.get('scroll'), place.get('link'), place.get('at')] as [
      number?,
      string?,
      number?,
    ];
    if (top === undefined && link === undefined) {
      if (isOther) scrollTo(0, 0);
      return;
    }
    const observer = new MutationObserver(go);
    observer.observe(main, { childList: true, subtree: true, attributeFilter: ['href'] });
    way = {
      observer,
      ...(top !== undefined && { top }),
      ...(link !== undefined && { link }),
      ...(at !== undefined && { at }),
    };
    queueMicrotask(go); // the router's event came first, so by then the page is another
  };
  // The next page may be shorter, which scrolls as well. An event of this comes later than the scrolling itself.
  const save = () => {
    if (way || location.hash !== hash) return;
    place.set('scroll', scrollY);
    place.delete('at'); // the link is elsewhere now
  };
  const follow = ({ target }: Event) => {
    const link = target instanceof Element && target.closest('a[href]');
    if (!link) return;
    save();
    place.set('link', link.getAttribute('href'));
    place.set('at', link.getBoundingClientRect().top);
  };
  addEventListener('hashchange', leave);
  addEventListener('scroll', save, { passive: true });
  main.addEventListener('click', follow, { capture: true });
  for (const name of INPUTS) addEventListener(name, end, { capture: true, passive: true });
  return () => {
    end();
    removeEventListener('hashchange', leave);
    removeEventListener('scroll', save);
    main.removeEventListener('click', follow, { capture: true });
    for (const name of INPUTS) removeEventListener(name, end, { capture: true });
  };
}

/** The rest of the way back. */
interface Way {
  readonly observer: MutationObserver;
  top?: number;
  readonly link?: string;
  /** Place of the link on the screen. */
  readonly at?: number;
  /** Set once the link is there, until the page around it is complete. */
  settling?: ReturnType<typeof setTimeout>;
}

function hasRoomFor(top: number): boolean {
  return document.documentElement.scrollHeight - innerHeight >= top;
}
