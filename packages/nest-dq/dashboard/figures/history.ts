import type { HistoryWire, TubeHistoriesWire } from '../../src/dashboard/wire.js';
import { addLateness, latenessAt, type Lateness } from './lateness.js';
import { barAt, type Span } from './scales.js';
import { LATENESS_STEPS } from './steps.js';

/** Names of the counts, which come in addition to lateness. */
export const COUNTED = ['scheduled', 'started', 'completed', 'failed', 'dead', 'expired'] as const;
export type Counted = (typeof COUNTED)[number];

/** Milliseconds by bar: so late was half of the runs, and 99 in 100; undefined where nothing began. */
export interface LatenessBars {
  readonly p50: readonly (number | undefined)[];
  readonly p99: readonly (number | undefined)[];
}

/** The minutes of a history, added up by the bars of a span. */
export interface HistoryBars extends LatenessBars {
  readonly counts: Readonly<Record<Counted, readonly number[]>>;
  /** Average milliseconds of a run, by bar and of all; undefined where none is known. */
  readonly means: readonly (number | undefined)[];
  readonly mean: number | undefined;
}

export function barsOf(minutes: HistoryWire, span: Span): HistoryBars {
  const bars = inBars(minutes, span);
  const sums = (name: Counted) => bars.map((each) => each.reduce((sum, minute) => sum + minute[name], 0));
  return {
    counts: Object.fromEntries(COUNTED.map((name) => [name, sums(name)])) as Record<Counted, number[]>,
    means: bars.map(meanOf),
    mean: meanOf(bars.flat()),
    ...latenessIn(bars),
  };
}

function meanOf(minutes: HistoryWire): number | undefined {
  const sum = (name: 'timed' | 'runTime') => minutes.reduce((total, each) => total + each[name], 0);
  return sum('timed') > 0 ? sum('runTime') / sum('timed') : undefined;
}

/** A tube's figures for two days as a whole, and its lateness by the bars of a span. */
export interface TubeHistory extends LatenessBars {
  /** Runs begun in a minute, now. */
  readonly perMinute: number;
  /** Milliseconds, of all; undefined if none began. */
  readonly half: number | undefined;
  readonly most: number | undefined;
}

export function tubeHistoryOf(
  { perMinute, hours, minutes }: TubeHistoriesWire[number],
  span: Span,
): TubeHistory {
  const classed = (starts: typeof hours) =>
    starts.map(({ at, started }) => ({ at, byLateness: classesOf(started) }));
  const all = addLateness(classed(hours).map(({ byLateness }) => byLateness));
  return {
    perMinute,
    half: latenessAt(0.5, all),
    most: latenessAt(0.99, all),
    ...latenessIn(inBars(classed(minutes.length > 0 ? minutes : hours), span)),
  };
}

/** The first minute in which anything ran, if all of the history is known by the minute. */
export function shortHistoryFrom(histories: TubeHistoriesWire): number | undefined {
  const starts = histories.flatMap(({ minutes }) => minutes.slice(0, 1)).map(({ at }) => Date.parse(at));
  return starts.length === 0 ? undefined : Math.min(...starts);
}

/** The first hour in which anything ran. */
export function firstHourOf(histories: TubeHistoriesWire): number | undefined {
  const starts = histories.flatMap(({ hours }) => hours.map(({ at }) => Date.parse(at)));
  return starts.length === 0 ? undefined : Math.min(...starts);
}

function classesOf(started: readonly number[]): Lateness {
  const upTo = (end: number) => (end === Infinity ? null : end);
  return LATENESS_STEPS.map((end, i) => ({ upTo: upTo(end), started: started[i] ?? 0 }));
}

function inBars<T extends { readonly at: string }>(entries: readonly T[], span: Span): readonly T[][] {
  const bars: T[][] = Array.from({ length: span.bars }, () => []);
  for (const entry of entries) bars[barAt(span, Date.parse(entry.at))]?.push(entry);
  return bars;
}

function latenessIn(bars: readonly (readonly { readonly byLateness: Lateness }[])[]): LatenessBars {
  const classes = bars.map((each) => addLateness(each.map(({ byLateness }) => byLateness)));
  return {
    p50: classes.map((each) => latenessAt(0.5, each)),
    p99: classes.map((each) => latenessAt(0.99, each)),
  };
}
