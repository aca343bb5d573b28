import { useEffect, useRef, useState } from 'preact/hooks';
import { fell, now, recovered } from '../state/live.js';
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
  /** How many the server has looked at to find these, if it says so. */
  readonly looked?: number | undefined;
  /** Stops the search for an item; absent unless it reads past pages without one. */
  readonly stop?: (() => void) | undefined;
  /** Reads the next page; absent if there is none. */
  readonly more?: () => void;
  /** Reads from the beginning again. */
  readonly again: () => void;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  readonly cursor?: string | undefined;
  /** How many the server has looked at. */
  readonly looked?: number | undefined;
}

export const MAX_SHOWN = 500;

interface State<Item> extends Page<Item> {
  readonly cut: boolean;
  /** When the items were read, and with which values. */
  readonly asOf?: number;
  readonly of?: string;
  readonly error?: Error | undefined;
  readonly loading: boolean;
  /** The empty pages read past so far. */
  readonly past?: Pick<Page<Item>, 'cursor' | 'looked'> | undefined;
}

/**
 * Reads the first page now, when one of the values changes, and when the server or the ledger is back, unless more pages were read.
 * When the ledger goes away, the first page is only tried, so that the items get their age if that fails. A page without an item, though more follow, is read past. If a read fails, the last items are shown, also after another page was visited.
 */
export function usePages<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  on: readonly unknown[],
): Paged<Item> {
  const [state, setState] = useState<State<Item>>({ items: [], cut: false, loading: true });
  const key = on.join('\n');
  const about = `${location.hash}\n${key}`; // a page has one list
  const [turn, setTurn] = useState<Turn>({ key });
  const { cursor: begin, isTry } = turn.key === key ? turn : ({ key } as Turn);
  const control = useRef<AbortController>(undefined);
  useEffect(() => {
    const stop = new AbortController();
    control.current = stop;
    const isWanted = () => !stop.signal.aborted;
    setState((last) => ({ ...last, loading: true }));
    const pass = (past: State<Item>['past']) => isWanted() && setState((last) => ({ ...last, past }));
    readOn(read, begin, pass, stop.signal).then(
      (page) =>
        isWanted() &&
        setState((last) => {
          if (isTry && last.of === key) return { ...last, past: undefined, loading: false };
          const next = withPage(begin === undefined ? NOTHING : last, page, key);
          noteRead(about, { data: next, asOf: next.asOf });
          return next;
        }),
      (error: Error) =>
        isWanted() &&
        setState((last) => {
          const read = last.of === key ? last : (lastRead(about)?.data as State<Item> | undefined);
          if (read?.asOf === undefined) return { items: [], cut: false, error, loading: false };
          return { ...read, past: undefined, error: new Stale(error, read.asOf), loading: false };
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
  const gone = fell.value;
  const seenGone = useRef(gone);
  useEffect(() => {
    if (gone === seenGone.current) return;
    seenGone.current = gone;
    setTurn({ key, isTry: true });
  }, [gone]);
  const { items, cut, cursor, error, loading, past } = state;
  const stop = () => {
    control.current?.abort();
    setState((last) => withPage(begin === undefined ? NOTHING : last, { items: [], ...last.past }, key));
  };
  const lookedBefore = begin === undefined && loading ? undefined : state.looked;
  return {
    items,
    cut,
    error,
    loading,
    looked: sum(lookedBefore, past?.looked),
    ...(past && { stop }),
    again: () => setTurn({ key }),
    ...(cursor !== undefined && { more: () => setTurn({ key, cursor }) }),
  };
}

interface Turn {
  readonly key: string;
  /** Cursor of the page to read. @default the first */
  readonly cursor?: string;
  /** Whether the page only shows that the list can be read. */
  readonly isTry?: true;
}

const NOTHING = { items: [], cut: false, looked: undefined };

/** Adds a page to what was read before. */
function withPage<Item>(
  before: Pick<State<Item>, 'items' | 'cut' | 'looked'>,
  { items: more, cursor, looked }: Page<Item>,
  key: string,
): State<Item> & { readonly asOf: number } {
  const items = [...before.items, ...more];
  return {
    items: items.slice(-MAX_SHOWN),
    cut: items.length > MAX_SHOWN || before.cut,
    cursor,
    looked: sum(before.looked, looked),
    asOf: now.peek(),
    of: key,
    loading: false,
  };
}

function sum(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0);
}

/** Max empty pages skipped at once: a call examines a limited number of items, and none of them may match. */
const MAX_EMPTY = 20;

async function readOn<Item>(
  read: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
  begin: string | undefined,
  pass: (past: Pick<Page<Item>, 'cursor' | 'looked'>) => void,
  signal: AbortSignal,
): Promise<Page<Item>> {
  let page = await read(begin, signal);
  let { looked } = page;
  for (let i = 0; i < MAX_EMPTY && page.items.length === 0 && page.cursor !== undefined; i++) {
    pass({ cursor: page.cursor, looked });
    page = await read(page.cursor, signal);
    looked = sum(looked, page.looked);
  }
  return { ...page, looked };
}
