// State that a viewer leaves on a page when they follow a link, such as chosen rows: kept for the way back, while the page is open.
import type { StateUpdater } from 'preact/hooks';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

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

/** Leads back to where the viewer left, and to the link they followed, once there is as much to see. */
export function useKeptPlace(isReady: boolean): void {
  const kept = useEntry();
  const left = useRef(
    kept.has('scroll') || kept.has('link') ? { top: kept.get('scroll'), link: kept.get('link') } : undefined,
  );
  useLayoutEffect(() => {
    if (!isReady || left.current === undefined) return;
    const { top, link } = left.current as { readonly top?: number; readonly link?: string };
    left.current = undefined;
    if (top !== undefined) scrollTo(0, top);
    if (link === undefined) return;
    document.querySelector<HTMLElement>(`main a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
  }, [isReady]);
  useEffect(() => {
    const { hash } = location;
    // The next page is shorter, which scrolls as well.
    const save = () => {
      if (left.current === undefined && location.hash === hash) kept.set('scroll', scrollY);
    };
    const follow = ({ target }: Event) => {
      const link = target instanceof Element && target.closest('main tbody a[href]');
      if (link) kept.set('link', link.getAttribute('href'));
    };
    addEventListener('scroll', save, { passive: true });
    addEventListener('click', follow, { capture: true });
    return () => {
      removeEventListener('scroll', save);
      removeEventListener('click', follow, { capture: true });
    };
  }, []);
}
