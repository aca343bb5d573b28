import type { HistoryWire } from '../../src/dashboard/wire.js';
import { addLateness, latenessAt, type Lateness } from './lateness.js';
import { barAt, type Span } from './scales.js';

const MINUTE = 60_000;

/** What is counted, beside lateness. */
export const COUNTED = ['scheduled', 'started', 'completed', 'failed', 'dead'] as const;
export type Counted = (typeof COUNTED)[number];

/** The minutes of a history, added up by the bars of a span. */
export interface HistoryBars {
  readonly counts: Readonly<Record<Counted, readonly number[]>>;
  /** Milliseconds; undefined where nothing began. */
  readonly p50: readonly (number | undefined)[];
  readonly p99: readonly (number | undefined)[];
}

export function barsOf(minutes: HistoryWire, span: Span): HistoryBars {
  const inBar: HistoryWire[number][][] = Array.from({ length: span.bars }, () => []);
  for (const minute of minutes) inBar[barAt(span, Date.parse(minute.at))]?.push(minute);
  const sums = (name: Counted) => inBar.map((each) => each.reduce((sum, minute) => sum + minute[name], 0));
  const classes: Lateness[] = inBar.map((each) => addLateness(each.map(({ byLateness }) => byLateness)));
  return {
    counts: Object.fromEntries(COUNTED.map((name) => [name, sums(name)])) as Record<Counted, number[]>,
    p50: classes.map((each) => latenessAt(0.5, each)),
    p99: classes.map((each) => latenessAt(0.99, each)),
  };
}

/** A history as one: runs begun in a minute on average, and how late. */
export interface Pace {
  readonly perMinute: number;
  readonly p50: number | undefined;
  readonly p99: number | undefined;
}

/** Of the last minutes before `now`; the minute that goes on is left out. Times in milliseconds. */
export function paceOf(minutes: HistoryWire, now: number, length: number): Pace {
  const end = Math.floor(now / MINUTE) * MINUTE;
  const meant = minutes.filter(({ at }) => Date.parse(at) >= end - length && Date.parse(at) < end);
  const classes = addLateness(meant.map(({ byLateness }) => byLateness));
  const runs = meant.reduce((sum, { started }) => sum + started, 0);
  return {
    perMinute: runs / (length / MINUTE),
    p50: latenessAt(0.5, classes),
    p99: latenessAt(0.99, classes),
  };
}
