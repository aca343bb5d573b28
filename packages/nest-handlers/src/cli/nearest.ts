/** Returns the names that `given` may have been meant to be, most similar first. Empty if none is similar. */
export function nearest(given: string, names: Iterable<string>): string[] {
  const most = Math.max(1, Math.floor(given.length / 3));
  const distances = Array.from(new Set(names), (name) => {
    const isBeginning = given.length > 1 && name.startsWith(given);
    return { name, distance: isBeginning ? 1 : editDistance(given, name) };
  });
  return distances
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.name < b.name ? -1 : 1))
    .slice(0, 3)
    .map(({ name }) => name);
}

/** Formats similar names as a question: ` Did you mean stats?` Empty if there are none. */
export function didYouMean(names: readonly string[]): string {
  if (names.length === 0) return '';
  const last = names.at(-1)!;
  return ` Did you mean ${names.length === 1 ? last : `${names.slice(0, -1).join(', ')} or ${last}`}?`;
}

/** Number of characters to insert, delete, replace or swap with their neighbour to make `b` from `a`. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        last[j]! + 1,
        row[j - 1]! + 1,
        last[j - 1]! + (isSame ? 0 : 1),
        isSwapped ? before[j - 2]! + 1 : Infinity,
      );
    }
    [before, last] = [last, row];
  }
  return last[b.length]!;
}
