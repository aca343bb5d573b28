import { useEffect, useRef, useState } from 'preact/hooks';
import { now, recovered } from '../state/live.js';
import { lastRead, noteRead } from './last-read.js';
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

interface State<Item> extends Page<Item> {
  readonly cut: boolean;
  /** When the items were read, and with which values. */
  readonly asOf?: number;
  readonly of?: string;
  readonly error?: Error | undefined;
  readonly loading: boolean;
}

/**
 * Reads the first page now, when one of the values changes, and when the server or the ledger is back, unless more pages were read. A
 * page without an item, though more follow, is read past. If a read fails, the last items are shown, also after another page was visited.
 */
export function usePages<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  on: readonly unknown[],
): Paged<Item> {
  const [state, setState] = useState<State<Item>>({ items: [], cut: false, loading: true });
  const key = on.join('\n');
  const about = `${location.hash}\n${key}`; // a page has one list
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
          const next = {
            items: items.slice(-MAX_SHOWN),
            cut: items.length > MAX_SHOWN || (begin !== undefined && last.cut),
            cursor: page.cursor,
            asOf: now.peek(),
            of: key,
            loading: false,
          };
          noteRead(about, { data: next, asOf: next.asOf });
          return next;
        }),
      (error: Error) =>
        isWanted() &&
        setState((last) => {
          const read = last.of === key ? last : (lastRead(about)?.data as State<Item> | undefined);
          if (read?.asOf === undefined) return { items: [], cut: false, error, loading: false };
          return { ...read, error: new Stale(error, read.asOf), loading: false };
        }),
    );
    return () => stop.abort();
  }, [key, turn]);
  const back = recovered.value;
  const seen = useRef(back);
  useEffect(() => {
    if (back === seen.current) return;
    seen.current = back;
    if (begin === undefined || state.error) setTurn({ key });
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
