import { timeMarks, type Span } from '../figures/scales.js';
import { offsetAt } from '../figures/times.js';
import { mark, short } from '../words/say.js';

/** Where a chart has its marks and bars, in pixels. */
export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Lines and names of the values. */
export function ValueAxis({
  box,
  marks,
  name = short,
}: {
  readonly box: Box;
  readonly marks: readonly number[];
  readonly name?: (value: number) => string;
}) {
  const highest = marks.at(-1)!;
  return (
    <g class="axis">
      {marks.map((value) => {
        const y = box.bottom - (value / highest) * (box.bottom - box.top);
        return (
          <g key={value}>
            <line x1={box.left} x2={box.right} y1={y} y2={y} />
            <text x={box.left - 6} y={y + 4} text-anchor="end">
              {name(value)}
            </text>
          </g>
        );
      })}
    </g>
  );
}

const NAME_WIDTH = 64;

/** The names of times below the bars. */
export function TimeAxis({ box, span }: { readonly box: Box; readonly span: Span }) {
  const most = Math.max(2, Math.floor((box.right - box.left) / NAME_WIDTH));
  const { every, bars } = timeMarks(span, most, offsetAt);
  const pitch = (box.right - box.left) / span.bars;
  return (
    <g class="axis times">
      {bars.map((bar) => {
        const x = box.left + bar * pitch;
        // A name at the edge stays inside the chart.
        const anchor = x < box.left + 24 ? 'start' : x > box.right - 24 ? 'end' : 'middle';
        return (
          <g key={bar}>
            <line x1={x} x2={x} y1={box.bottom} y2={box.bottom + 4} />
            <text x={x} y={box.bottom + 17} text-anchor={anchor}>
              {mark(span.edges[bar]!, every)}
            </text>
          </g>
        );
      })}
    </g>
  );
}
