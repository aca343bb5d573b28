import { signal } from '@preact/signals';
import { hashOf, parseHash } from './route.js';

export const route = signal(parseHash(location.hash));

addEventListener('hashchange', () => {
  route.value = parseHash(location.hash);
});

/** Goes to another page, or to another view of this one. */
export function go(path: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  location.hash = hashOf(path, query);
}

/**
 * Shows another view in the place of a page, which the way back does not lead to then. Not if the viewer has just left the page: effects
 * run after it was painted, and so between his click and the next page.
 */
export function goOnFrom(
  page: string,
  path: readonly string[],
  query: Readonly<Record<string, string | undefined>>,
): void {
  if (parseHash(location.hash).path[0] === page) location.replace(hashOf(path, query));
}
