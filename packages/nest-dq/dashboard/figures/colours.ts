/** Colours of the palette, `tube-0` and so on. */
export const COLOURS = 10;

/**
 * Gives each tube a colour by its name, so that it has the same one in every chart and on every day. If two shown together would
 * share one, the second by name takes another, and keeps it while the page is open.
 */
export class Colours {
  private readonly known = new Map<string, number>();

  /** Returns a colour for each name, all different, as far as the palette goes. */
  of(names: readonly string[]): ReadonlyMap<string, number> {
    const colours = new Map<string, number>();
    const used = new Set<number>();
    const take = (name: string, colour: number) => {
      colours.set(name, colour);
      used.add(colour);
      this.known.set(name, colour);
    };
    const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
    // Those whose colour was seen before come first: it is not taken from them by a name that comes later.
    for (const name of sorted) {
      const colour = this.known.get(name);
      if (colour !== undefined && !used.has(colour)) take(name, colour);
    }
    for (const name of sorted) {
      if (colours.has(name)) continue;
      let colour = hashOf(name) % COLOURS;
      for (let tried = 0; used.has(colour) && tried < COLOURS; tried++) colour = (colour + 1) % COLOURS;
      take(name, colour);
    }
    return colours;
  }
}

/** FNV-1a, with the bits mixed once more, since names often differ in their last letter only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
