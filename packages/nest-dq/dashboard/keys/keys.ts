// Shortcuts of one key, and of two: `g` and the key of a page.

/** Meaning of a key press. */
export type Shortcut =
  | 'search'
  | 'help'
  | 'next'
  | 'previous'
  | 'select'
  | 'refresh'
  | { readonly page: string };

/** A key press, as the browser reports it. */
export type Press = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey'>;

const SINGLE: Readonly<Record<string, Shortcut>> = {
  '/': 'search',
  '?': 'help',
  j: 'next',
  k: 'previous',
  x: 'select',
  r: 'refresh',
};
/** Time in which the second key has to follow. */
const PAIR_MS = 1_500;

/** Reads shortcuts from successive key presses. */
export class KeyReader {
  private pairedAt = -Infinity;

  /** @param pages Paths of pages by their key. */
  constructor(private readonly pages: Readonly<Record<string, string>>) {}

  /**
   * Returns what the press means; undefined if nothing, or not yet.
   * @param at In ms.
   */
  read({ key, ctrlKey, metaKey, altKey }: Press, at: number): Shortcut | undefined {
    const isPair = at - this.pairedAt <= PAIR_MS;
    this.pairedAt = -Infinity;
    if (ctrlKey || metaKey || altKey) return undefined;
    const name = key.length === 1 ? key.toLowerCase() : key;
    if (isPair) {
      const page = Object.hasOwn(this.pages, name) ? this.pages[name] : undefined;
      return page === undefined ? undefined : { page };
    }
    if (name === 'g') this.pairedAt = at;
    return Object.hasOwn(SINGLE, name) ? SINGLE[name] : undefined;
  }
}

/** Whether it opens the palette: ⌘K or Ctrl+K, also while somebody types. */
export function isPaletteKey({ key, ctrlKey, metaKey, altKey }: Press): boolean {
  return key.toLowerCase() === 'k' && ctrlKey !== metaKey && !altKey;
}
