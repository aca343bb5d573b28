// Suggestions of the palette for a typed text.

/** A line of the palette. */
export interface Option {
  /** Unique, and valid as the id of an element. */
  readonly id: string;
  readonly group: 'pages' | 'tubes' | 'jobs' | 'search';
  readonly label: string;
  /** Address it leads to. */
  readonly href: string;
}

export interface NamedPage {
  readonly path: string;
  readonly title: string;
}

/** Tubes offered at once. */
const MAX_TUBES = 8;

/** The pages whose name has this part; all, if it is empty. */
export function pagesLike<Page extends NamedPage>(pages: readonly Page[], text: string): Page[] {
  return best(pages, text, ({ title, path }) => [title, path]);
}

/** The tubes whose name has this part, those that begin with it first. */
export function tubesLike(tubes: readonly string[], text: string): string[] {
  return best(tubes, text, (tube) => [tube]).slice(0, MAX_TUBES);
}

function best<Item>(
  items: readonly Item[],
  text: string,
  namesOf: (item: Item) => readonly string[],
): Item[] {
  const part = text.toLowerCase();
  const rank = (item: Item) => {
    const names = namesOf(item).map((name) => name.toLowerCase());
    if (names.includes(part)) return 0;
    if (names.some((name) => name.startsWith(part))) return 1;
    return names.some((name) => name.includes(part)) ? 2 : 3;
  };
  return items
    .map((item) => ({ item, rank: rank(item) }))
    .filter((each) => each.rank < 3)
    .toSorted((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}

/**
 * The option that Enter takes until the viewer chooses one: an exact match, the first page or tube, or else the search, which
 * opens the only job it finds.
 */
export function firstChoice(options: readonly Option[], text: string): Option | undefined {
  if (text === '') return options[0];
  const exact = options.find(({ label }) => label.toLowerCase() === text.toLowerCase());
  const named = options.find(({ group }) => group === 'pages' || group === 'tubes');
  return exact ?? named ?? options.find(({ group }) => group === 'search');
}

/** The option `by` lines below another one; it goes round. */
export function nextOption(
  options: readonly Option[],
  from: Option | undefined,
  by: 1 | -1,
): Option | undefined {
  const at = from ? options.findIndex(({ id }) => id === from.id) : by > 0 ? -1 : 0;
  return options[(at + by + options.length) % options.length];
}
