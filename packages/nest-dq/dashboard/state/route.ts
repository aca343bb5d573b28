/** Where the viewer is: the part of the address behind `#`. */
export interface Route {
  /** As in `tubes/order.cancel`, each part decoded. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** Parses the hash. An invalid one, such as a broken escape, leads to the first page. */
export function parseHash(hash: string): Route {
  const [path, query] = split(hash.replace(/^#\/?/, ''));
  try {
    const parts = path.split('/').filter((part) => part !== '');
    return { path: parts.map(decodeURIComponent), query: Object.fromEntries(new URLSearchParams(query)) };
  } catch (error) {
    if (error instanceof URIError) return { path: [], query: {} };
    throw error;
  }
}

/** An address within this client. Values that are absent are left out. */
export function hashOf(
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>> = {},
): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

function split(text: string): [path: string, query: string] {
  const mark = text.indexOf('?');
  return mark < 0 ? [text, ''] : [text.slice(0, mark), text.slice(mark + 1)];
}
