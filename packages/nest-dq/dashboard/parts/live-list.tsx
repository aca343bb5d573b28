import { useEffect, useRef } from 'preact/hooks';
import { now } from '../state/live.js';
import { useEntry } from '../state/kept.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { changesOf, type Changes, type Ordered } from './changes.js';
import { useLoad } from './load.js';
import { type Page, type Paged, usePages } from './pages.js';

const POLL_MS = 5_000;
/** Rows that are looked at again. */
const FEWEST = 50;
const MOST = 200;

/** Query of a page. `brief` leaves out fields that cost more to read. */
export interface PageQuery {
  readonly cursor?: string | undefined;
  readonly limit?: number;
  readonly brief?: boolean;
}

/** A list whose rows show what has become of them, in the places in which they were read. */
export interface LiveList<Item> extends Paged<Item>, Omit<Changes<Item>, 'present'> {
  readonly isGone: (item: Item) => boolean;
}

/**
 * Reads a list page by page, and looks every five seconds at the rows shown. Rows stay where they are until the viewer refreshes.
 * Back leads to as many rows, and to where they were.
 * @param merge The row as it is now. @default as it was read
 */
export function useLiveList<Item>(
  read: (query: PageQuery, signal: AbortSignal) => Promise<Page<Item>>,
  on: readonly unknown[],
  order: Ordered<Item>,
  merge: (shown: Item, present: Item) => Item = (shown) => shown,
): LiveList<Item> {
  const kept = useEntry();
  const left = useRef((kept.get('rows') as number | undefined) ?? 0);
  const list = usePages<Item>((cursor, signal) => {
    const limit = cursor === undefined && left.current > FEWEST ? Math.min(left.current, MOST) : undefined;
    left.current = 0;
    return read({ cursor, ...(limit !== undefined && { limit }) }, signal);
  }, on);
  const { items, cut, loading, more } = list;
  useEffect(() => {
    if (!loading) kept.set('rows', items.length);
  }, [items, loading]);

  // A poll says nothing about a list read after it began.
  const poll = useLoad(
    async (signal) => {
      if (loading || cut) return undefined;
      const limit = Math.min(MOST, Math.max(FEWEST, items.length));
      return { of: items, page: await read({ limit, brief: true }, signal) };
    },
    [Math.floor(now.value / POLL_MS), ...on],
  );
  const polled = poll.data?.of === items ? poll.data.page : undefined;
  const changes = polled && changesOf(items, more !== undefined, polled, order);
  const { gone = NONE, fresh = 0 } = changes ?? {};
  const update = (item: Item) => {
    const present = changes?.present.get(order.idOf(item));
    return present === undefined ? item : merge(item, present);
  };
  return {
    ...list,
    items: items.map(update),
    error: list.error ?? poll.error,
    gone,
    fresh,
    isGone: (item) => gone.has(order.idOf(item)),
  };
}

const NONE: ReadonlySet<string> = new Set();

/** Reads the list again; says how many rows are new, and how many are gone. */
export function Refresh({
  list: { fresh, gone, again },
}: {
  readonly list: Pick<LiveList<unknown>, 'fresh' | 'gone' | 'again'>;
}) {
  const changed = [
    fresh > 0 && t('list.fresh', { rows: count(fresh) }),
    gone.size > 0 && t('list.gone', { rows: count(gone.size) }),
  ].filter((each) => each !== false);
  return (
    <>
      <button data-refresh class={changed.length > 0 ? 'button accent' : 'button'} onClick={again}>
        {t('again')}
      </button>
      <span class="changed" role="status">
        {changed.join(', ')}
      </span>
    </>
  );
}
