/** Changes to the rows of a list since they were read. */
export interface Changes<Item> {
  /** Ids of rows that are no longer in the list. */
  readonly gone: ReadonlySet<string>;
  /** Number of new rows among them. */
  readonly fresh: number;
  /** The rows that are still there, as they are now, by id. */
  readonly present: ReadonlyMap<string, Item>;
}

/** Identity of a row and its place: a list is in ascending order. */
export interface Ordered<Item> {
  readonly idOf: (item: Item) => string;
  readonly orderOf: (item: Item) => number;
}

/**
 * Compares the rows shown with the beginning of the list as it is now. Nothing is said about rows beyond that.
 * @param hasMore Whether there are rows after those shown.
 */
export function changesOf<Item>(
  shown: readonly Item[],
  hasMore: boolean,
  now: { readonly items: readonly Item[]; readonly cursor?: string | undefined },
  { idOf, orderOf }: Ordered<Item>,
): Changes<Item> {
  const present = new Map(now.items.map((item) => [idOf(item), item]));
  const [lastNow, lastShown] = [now.items.at(-1), shown.at(-1)];
  const end = now.cursor === undefined ? Infinity : lastNow === undefined ? -Infinity : orderOf(lastNow);
  const isGone = (item: Item) => !present.has(idOf(item)) && orderOf(item) < end;
  const before = hasMore && lastShown !== undefined ? orderOf(lastShown) : Infinity;
  const known = new Set(shown.map(idOf));
  return {
    gone: new Set(shown.filter(isGone).map(idOf)),
    fresh: now.items.filter((item) => !known.has(idOf(item)) && orderOf(item) < before).length,
    present,
  };
}
