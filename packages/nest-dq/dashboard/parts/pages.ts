import { useEffect, useState } from 'preact/hooks';
import { now, recovered } from '../state/live.js';
import { Stale } from './stale.js';

/** A list that is read page by page. */
export interface Paged<Item> {
  /** The last ones that were read: MOST_SHOWN at most, so that a page does not grow without end. */
  readonly items: readonly Item[];
  /** There were others before them. */
  readonly cut: boolean;
  /** A `Stale` if the items are from before. */
  readonly error?: Error | undefined;
  readonly loading: boolean;
  /** Reads the next page; absent if there is none. */
  readonly more?: () => void;
  /** Reads from the beginning again. */
  readonly again: () => void;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string | undefined;
}

export const MAX_SHOWN = 500;

/**
 * Reads the first page now, when one of the values changes, and when the server or the ledger is back, unless more pages were read. A
 * page without an item, though more follow, is read past.
 */
export function usePages<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  on: readonly unknown[],
): Paged<Item> {
  const [state, setState] = useState<
    Page<Item> & { cut: boolean; asOf?: number; of?: string; error?: Error | undefined; loading: boolean }
  >({ items: [], cut: false, loading: true });
  const key = on.join('\n');
  const [turn, setTurn] = useState<{ readonly key: string; readonly cursor?: string }>({ key });
  const begin = turn.key === key ? turn.cursor : undefined;
  useEffect(() => {
    const stop = new AbortController();
    const isWanted = () => !stop.signal.aborted;
    setState((last) => ({ ...last, loading: true }));
    readOn(read, begin, stop.signal).then(
      (page) =>
        isWanted() &&
        setState((last) => {
          const items = begin === undefined ? page.items : [...last.items, ...page.items];
          return {
            items: items.slice(-MAX_SHOWN),
            cut: items.length > MAX_SHOWN || (begin !== undefined && last.cut),
            cursor: page.cursor,
            asOf: now.peek(),
            of: key,
            loading: false,
          };
        }),
      (error: Error) =>
        isWanted() &&
        setState((last) =>
          last.of === key
            ? { ...last, error: new Stale(error, last.asOf!), loading: false }
            : { items: [], cut: false, error, loading: false },
        ),
    );
    return () => stop.abort();
  }, [key, turn]);
  const back = recovered.value;
  useEffect(() => {
    if (back > 0 && (begin === undefined || state.error)) setTurn({ key });
  }, [back]);
  const { items, cut, cursor, error, loading } = state;
  return {
    items,
    cut,
    error,
    loading,
    again: () => setTurn({ key }),
    ...(cursor !== undefined && { more: () => setTurn({ key, cursor }) }),
  };
}

/** Max empty pages skipped at once: a call examines a limited number of items, and none of them may match. */
const MAX_EMPTY = 20;

async function readOn<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  begin: string | undefined,
  signal: AbortSignal,
): Promise<Page<Item>> {
  let page = await read(begin, signal);
  for (let i = 0; i < MAX_EMPTY && page.items.length === 0 && page.cursor !== undefined; i++)
    page = await read(page.cursor, signal);
  return page;
}
