/** Line logged by the handlers of series. `at`: milliseconds of the machine's clock, even where that of the process is wrong. */
export type Tick =
  | {
      readonly what: 'start';
      /** The name of the run, unique among all processes. */
      readonly run: string;
      readonly tube: string;
      /** As the library gave it to the handler, like `lateness`. */
      readonly dueAt: number;
      readonly lateness: number;
      readonly at: number;
    }
  | { readonly what: 'end'; readonly run: string; readonly how: 'done' | 'discard'; readonly at: number };

/** One call of a handler. Without an end its process was killed. */
export interface SeriesRun extends Omit<Extract<Tick, { what: 'start' }>, 'what'> {
  readonly end?: { readonly how: 'done' | 'discard'; readonly at: number };
  /** Its process was killed just after the end, so the ledger may not know the outcome. */
  readonly unsure?: boolean;
}

/** The runs of each series, in the order in which they began. */
export function runsOf(ticks: readonly Tick[]): Map<string, SeriesRun[]> {
  const ends = new Map(ticks.flatMap((tick) => (tick.what === 'end' ? [[tick.run, tick] as const] : [])));
  const series = new Map<string, SeriesRun[]>();
  for (const tick of ticks) {
    if (tick.what !== 'start') continue;
    const { what: _, ...start } = tick;
    const end = ends.get(tick.run);
    const runs = series.get(tick.tube) ?? [];
    runs.push(end ? { ...start, end } : start);
    series.set(tick.tube, runs);
  }
  for (const runs of series.values()) runs.sort((a, b) => a.at - b.at);
  return series;
}
