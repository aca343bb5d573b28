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
