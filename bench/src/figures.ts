/** The value below which `part` (0 to 1) of the samples are; NaN without samples. */
export function percentile(samples: readonly number[], part: number): number {
  if (samples.length === 0) return NaN;
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

export function ms(value: number): string {
  return `${value.toFixed(2)} ms`;
}
