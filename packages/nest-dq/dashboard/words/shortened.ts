/** At most `most` characters, with `…` for the middle: names that begin alike often end differently. */
export function shortened(name: string, most: number): string {
  const letters = Array.from(name);
  if (letters.length <= most) return name;
  const head = Math.ceil((most - 1) / 2);
  return `${letters.slice(0, head).join('')}…${letters.slice(head + 1 - most).join('')}`;
}
