import { placeOf, type Span } from '../figures/scales.js';
import type { Box } from './axes.js';

/** Additions to the bars of a chart. Times in ms since 1970. */
export interface Overlay {
  /** Spans with a ground of their own. */
  readonly shades?: readonly { readonly from: number; readonly to: number }[];
  /** A value for each bar. */
  readonly line?: readonly number[] | undefined;
  readonly marks?: readonly Mark[];
}

/** A time that is marked. */
export interface Mark {
  readonly at: number;
  readonly kind: MarkKind;
}
export type MarkKind = 'now' | 'clock' | 'start';

/** Above this share of the highest bar a line would flatten the bars, so it isn't drawn. */
const HIGHEST_LINE = 3;

/** The values of the line, if it is drawn. */
export function drawnLine({ line }: Overlay, highest: number): readonly number[] | undefined {
  return line && highest > 0 && Math.max(...line) <= highest * HIGHEST_LINE ? line : undefined;
}

/** Behind the bars. */
export function Shades({
  box,
  span,
  overlay: { shades = [] },
}: {
  readonly box: Box;
  readonly span: Span;
  readonly overlay: Overlay;
}) {
  const xOf = xIn(box, span);
  return (
    <g>
      {shades
        .filter(({ from, to }) => to > span.from && from < span.to)
        .map(({ from, to }) => (
          <rect
            key={from}
            class="shade"
            x={xOf(from)}
            width={Math.max(2, xOf(to) - xOf(from))}
            y={box.top}
            height={box.bottom - box.top}
          />
        ))}
    </g>
  );
}

/** In front of the bars. */
export function LineAndMarks({
  box,
  span,
  overlay: { marks = [] },
  line,
  highest,
}: {
  readonly box: Box;
  readonly span: Span;
  readonly overlay: Overlay;
  readonly line: readonly number[] | undefined;
  readonly highest: number;
}) {
  const xOf = xIn(box, span);
  const pitch = (box.right - box.left) / span.bars;
  const yOf = (value: number) => box.bottom - (value / highest) * (box.bottom - box.top);
  const steps = line?.map((value, bar) => `H${box.left + (bar + 1) * pitch}V${yOf(line[bar + 1] ?? value)}`);
  return (
    <g>
      {line && steps && <path class="capacity" d={`M${box.left} ${yOf(line[0]!)}${steps.join('')}`} />}
      {marks
        .filter(({ at }) => at > span.from && at < span.to)
        .map(({ at, kind }) => (
          <line
            key={`${kind} ${at}`}
            class={`mark ${kind}`}
            x1={xOf(at)}
            x2={xOf(at)}
            y1={box.top}
            y2={box.bottom}
          />
        ))}
    </g>
  );
}

function xIn(box: Box, span: Span): (at: number) => number {
  return (at) => box.left + (placeOf(span, at) / span.bars) * (box.right - box.left);
}
