/** Colours of the palette, `tube-0` and so on. */
export const COLOURS = 10;

/**
 * Gives each tube a colour by its name. Where two would share one, the second in the order of all known names takes the next, so that a tube has
 * the same colour in every chart, whoever else is shown; only tubes beyond the palette may take another in a chart that they would
 * share it in.
 * @param shown The tubes of a chart.
 * @param all All known tubes.
 */
export function coloursOf(shown: readonly string[], all: readonly string[]): ReadonlyMap<string, number> {
  const known = differing(new Set([...all, ...shown]), (name) => hashOf(name) % COLOURS);
  return differing(shown, (name) => known.get(name)!);
}

/** The preferred colour of each name, or the next one that no name before it has, as far as the palette goes. */
function differing(names: Iterable<string>, preferred: (name: string) => number): Map<string, number> {
  const colours = new Map<string, number>();
  const used = new Set<number>();
  for (const name of [...names].toSorted((a, b) => (a < b ? -1 : 1))) {
    let colour = preferred(name);
    for (let tried = 0; used.has(colour) && tried < COLOURS; tried++) colour = (colour + 1) % COLOURS;
    colours.set(name, colour);
    used.add(colour);
  }
  return colours;
}

/** FNV-1a, with the bits mixed once more, since names often differ in their last letter only. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash ^= hash >>> 15;
  hash = Math.imul(hash, 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}
