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

/** A span of time in bars. Milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
  readonly bars: number;
  /** Length of one bar on the viewer's clock, in ms: a day on which that clock changes is an hour longer or shorter. */
  readonly step: number;
  /** Where each bar begins, and where the last one ends. */
  readonly edges: readonly number[];
}

/** Milliseconds by which UTC is ahead of the clock of the viewer at a time. */
export type OffsetAt = (at: number) => number;

/**
 * The bars that cover a span: the shortest known length of which there are at most `most`, from a whole one of it by the clock of
 * the viewer.
 * @param most At least 2, as a span may have a boundary of any bars within it.
 */
export function spanOf(from: number, to: number, most: number, offsetAt: OffsetAt): Span {
  const wanted = Math.max(to - from, SECOND) / most;
  const longer = (step: number) => STEPS.find((each) => each > step) ?? step + DAY;
  for (
    let step = STEPS.find((each) => each >= wanted) ?? Math.ceil(wanted / DAY) * DAY;
    ;
    step = longer(step)
  ) {
    const edges = edgesOf(from, to, step, offsetAt);
    const bars = edges.length - 1;
    if (bars <= most) return { from: edges[0]!, to: edges.at(-1)!, bars, step, edges };
  }
}

/** Returns the edges of the bars. Bars of up to an hour are equally long; longer ones follow the viewer's clock when it changes. */
function edgesOf(from: number, to: number, step: number, offsetAt: OffsetAt): number[] {
  const shift = offsetAt(from);
  const first = Math.floor((from - shift) / step) * step;
  const edgeAt = (i: number) =>
    step <= HOUR ? first + i * step + shift : onClock(first + i * step, offsetAt);
  const edges = [edgeAt(0)];
  for (let i = 1; edges.length < 2 || edges.at(-1)! < to; i++) {
    const edge = edgeAt(i);
    if (edge > edges.at(-1)!) edges.push(edge);
  }
  return edges;
}

/** When the clock of the viewer shows this, for the first time; if it leaves this out, when it shows what comes after. */
function onClock(shown: number, offsetAt: OffsetAt): number {
  const [before, after] = [shown + offsetAt(shown - DAY), shown + offsetAt(shown + DAY)];
  return before - offsetAt(before) !== shown && after - offsetAt(after) === shown ? after : before;
}

/** The bar that has this time; -1 if none has it. */
export function barAt({ edges }: Span, at: number): number {
  return at < edges[0]! ? -1 : Math.max(-1, edges.findIndex((edge) => edge > at) - 1);
}

/** Where a time is among the bars: 1.5 is the middle of the second one. Within the span. */
export function placeOf({ edges, bars }: Span, at: number): number {
  if (at <= edges[0]!) return 0;
  const bar = edges.findIndex((edge) => edge > at) - 1;
  if (bar < 0) return bars;
  return bar + (at - edges[bar]!) / (edges[bar + 1]! - edges[bar]!);
}

/** Number of jobs that can be run in each bar. */
export function capacityLine({ edges }: Pick<Span, 'edges'>, perMinute: number): number[] {
  return edges.slice(1).map((end, i) => (perMinute * (end - edges[i]!)) / MINUTE);
}

/** When the viewer's clock changes within a span, and by how much it goes forward, in ms. To a minute. */
export function clockChanges(
  { edges }: Pick<Span, 'edges'>,
  offsetAt: OffsetAt,
): { readonly at: number; readonly forward: number }[] {
  const changes: { at: number; forward: number }[] = [];
  for (const [i, end] of edges.slice(1).entries()) {
    let [before, after] = [edges[i]!, end];
    const forward = offsetAt(before) - offsetAt(after);
    if (forward === 0) continue;
    while (after - before > MINUTE) {
      const middle = before + Math.floor((after - before) / 2);
      if (offsetAt(middle) === offsetAt(edges[i]!)) before = middle;
      else after = middle;
    }
    changes.push({ at: Math.floor(after / MINUTE) * MINUTE, forward });
  }
  return changes;
}

/** Returns the bars to label: at most `most`, at round times on the viewer's clock. `every`: the interval between them, in ms. */
export function timeMarks(
  { from, to, step, bars, edges }: Span,
  most: number,
  offsetAt: OffsetAt,
): { readonly every: number; readonly bars: readonly number[] } {
  const known = STEPS.find((each) => each >= step && each % step === 0 && (to - from) / each <= most);
  const every = known ?? Math.ceil((to - from) / most / step) * step;
  const shown = (bar: number) => edges[bar]! - offsetAt(edges[bar]!);
  const isRound = (bar: number) =>
    shown(bar) % every === 0 ||
    (bar > 0 && Math.floor(shown(bar) / every) > Math.floor(shown(bar - 1) / every));
  return { every, bars: Array.from({ length: bars }, (_, bar) => bar).filter(isRound) };
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
