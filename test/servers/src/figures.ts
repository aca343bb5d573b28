/** The value below which `part` (0 to 1) of the samples are; NaN without samples. */
export function percentile(samples: Iterable<number>, part: number): number {
  const sorted = Float64Array.from(samples).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** A line of a table. The first cell is aligned left, the others right. */
export function tableLine(cells: readonly string[], widths: readonly number[], gap = '  '): string {
  const padded = cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)));
  return padded.join(gap).trimEnd();
}
