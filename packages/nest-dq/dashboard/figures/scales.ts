// Axes: where their marks stand, and how much time one bar has.

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Lengths of bars that people know from clocks and calendars. */
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 7, 14, 28].map((n) => n * DAY),
];

/** A span of time in bars of equal length. Milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
  /** Of one bar. */
  readonly step: number;
  readonly bars: number;
}

/**
 * The bars that cover a span: the shortest known length of which there are at most `most`, from a whole one of it by the clock of
 * the viewer.
 * @param most At least 2, as a span may have a boundary of any bars within it.
 * @param offset Minutes by which UTC is ahead of the viewer, as `Date.getTimezoneOffset` has it.
 */
export function spanOf(from: number, to: number, most: number, offset: number): Span {
  const shift = offset * MINUTE;
  const wanted = Math.max(to - from, SECOND) / most;
  const floor = (time: number, step: number) => Math.floor((time - shift) / step) * step + shift;
  const covers = (step: number) => {
    const first = floor(from, step);
    return { from: first, step, bars: Math.max(1, Math.ceil((to - first) / step)) };
  };
  const days = Math.ceil((to - from) / (most - 1) / DAY) * DAY;
  const candidates = [...STEPS.filter((step) => step >= wanted), days].map(covers);
  const { step, bars, from: first } = candidates.find((each) => each.bars <= most) ?? candidates.at(-1)!;
  return { from: first, to: first + step * bars, step, bars };
}

/** Which bars get a name below: at most so many, at round times. */
export function timeMarks({ from, to, step }: Span, most: number, offset: number): number[] {
  const shift = offset * MINUTE;
  const known = STEPS.find((each) => each >= step && each % step === 0 && (to - from) / each <= most);
  const every = known ?? Math.ceil((to - from) / most / step) * step;
  const marks: number[] = [];
  for (let at = Math.ceil((from - shift) / every) * every + shift; at < to; at += every) marks.push(at);
  return marks;
}

/** Round values from 0 to the first that is not below `highest`: some `most` of them. */
export function valueMarks(highest: number, most: number): number[] {
  const rough = Math.max(highest, 1) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 5, 10].map((n) => n * power).find((each) => each >= rough)!,
  );
  const marks = [0];
  while (marks.at(-1)! < highest || marks.length < 2) marks.push(marks.at(-1)! + step);
  return marks;
}
