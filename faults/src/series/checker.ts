import type { SeriesRun } from './log.js';

/** Errors in the runs of one series; each is a sentence. */
export interface SeriesFindings {
  readonly early: string[];
  /** Occurrences that went well twice. */
  readonly twice: string[];
  /** Between two runs there was an occurrence that nothing held back. */
  readonly missing: string[];
}

/** Milliseconds until the outcome of a run is known, and its series scheduled again if it ended. */
const SETTLED_WITHIN = 1_000;

/**
 * Checks a series with an occurrence every `every` ms since 1970, by what docs/recurring.md promises: after a run the next one is that of
 * the first occurrence after its start. If it ended the series' job, it is the first one after that was known. One that
 * was cut short is due again at its own time. `runs`: in the order of their starts.
 */
export function checkSeries(runs: readonly SeriesRun[], every: number): SeriesFindings {
  const findings: SeriesFindings = { early: [], twice: [], missing: [] };
  const succeeded = new Set<number>();
  const after = (instant: number) => (Math.floor(instant / every) + 1) * every;
  runs.forEach((run, i) => {
    const { tube, dueAt, at, lateness, end, unsure = false } = run;
    const label = `${tube}, due ${dueAt}, began ${at}`;
    if (at < dueAt || dueAt % every !== 0) findings.early.push(label);
    if (end && !unsure) {
      if (succeeded.has(dueAt)) findings.twice.push(label);
      succeeded.add(dueAt);
    }
    const next = runs[i + 1];
    if (!next) return;
    const started = dueAt + lateness;
    const first = end && !unsure ? after(started) : dueAt;
    const last = end ? after(end.how === 'discard' ? end.at + SETTLED_WITHIN : started) : dueAt;
    if (next.dueAt < first || next.dueAt > last)
      findings.missing.push(`${label}: the next one was due ${next.dueAt}, expected ${first} to ${last}`);
  });
  return findings;
}
