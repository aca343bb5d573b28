import { useEffect, useState } from 'preact/hooks';

/** A list that is read page by page. */
export interface Paged<Item> {
  readonly items: readonly Item[];
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

/** Reads the first page now, and when one of the values changes. A page without an item, though more follow, is read past. */
export function usePages<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  on: readonly unknown[],
): Paged<Item> {
  const [state, setState] = useState<Page<Item> & { error?: Error | undefined; loading: boolean }>({
    items: [],
    loading: true,
  });
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
        setState(({ items }) => ({
          items: begin === undefined ? page.items : [...items, ...page.items],
          cursor: page.cursor,
          loading: false,
        })),
      (error: Error) => isWanted() && setState((last) => ({ ...last, error, loading: false })),
    );
    return () => stop.abort();
  }, [key, turn]);
  const { items, cursor, error, loading } = state;
  return {
    items,
    error,
    loading,
    again: () => setTurn({ key }),
    ...(cursor !== undefined && { more: () => setTurn({ key, cursor }) }),
  };
}

/** A call looks at so many items only, and all of them may be others than those that are meant. */
const MOST_EMPTY = 20;

async function readOn<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  begin: string | undefined,
  signal: AbortSignal,
): Promise<Page<Item>> {
  let page = await read(begin, signal);
  for (let i = 0; i < MOST_EMPTY && page.items.length === 0 && page.cursor !== undefined; i++)
    page = await read(page.cursor, signal);
  return page;
}
