import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import type { Span } from '../figures/scales.js';
import { roundTime } from '../words/say.js';
import type { Box } from './axes.js';

/** The bar under the pointer. */
export interface Hover {
  readonly bar: number | undefined;
  /** Middle of the bar in pixels, from the left of the chart. */
  readonly x: number;
  /** Width of a bar, in pixels. */
  readonly pitch: number;
  /** Whether the pointer is in the right half of the window, where there is no room next to it. */
  readonly right: boolean;
  readonly handlers: {
    readonly onPointerMove: (event: PointerEvent) => void;
    readonly onPointerLeave: () => void;
  };
}

/** Follows the pointer over the bars of a chart. */
export function useHover(holder: RefObject<HTMLElement | null>, box: Box, bars: number): Hover {
  const [bar, setBar] = useState<number>();
  const [right, setRight] = useState(false);
  const pitch = (box.right - box.left) / bars;
  return {
    bar: bar !== undefined && bar < bars ? bar : undefined,
    x: box.left + ((bar ?? 0) + 0.5) * pitch,
    pitch,
    right,
    handlers: {
      onPointerMove: (event) => {
        setRight(event.clientX > window.innerWidth / 2);
        const x = event.clientX - holder.current!.getBoundingClientRect().left;
        setBar(
          x < box.left || x > box.right ? undefined : Math.min(bars - 1, Math.floor((x - box.left) / pitch)),
        );
      },
      onPointerLeave: () => setBar(undefined),
    },
  };
}

/** The ground of the bar under the pointer. */
export function Hovered({ hover: { bar, x, pitch }, box }: { readonly hover: Hover; readonly box: Box }) {
  if (bar === undefined) return null;
  return <rect class="hovered" x={x - pitch / 2} width={pitch} y={box.top} height={box.bottom - box.top} />;
}

/** One line of a tooltip; one without text is left out. */
export interface TooltipRow {
  readonly name: string;
  readonly colour: string;
  readonly text: string;
}

const MAX_ROWS = 10;

/** The values of the bar under the pointer. For the eye only: a table has the same numbers. */
export function Tooltip({
  hover: { bar, x, right },
  width,
  span,
  rows,
}: {
  readonly hover: Hover;
  /** Width of the chart, in pixels. */
  readonly width: number;
  readonly span: Span;
  readonly rows: (bar: number) => readonly TooltipRow[];
}) {
  if (bar === undefined) return null;
  const shown = rows(bar).filter(({ text }) => text !== '');
  if (shown.length === 0) return null;
  return (
    <div
      class="tooltip"
      aria-hidden="true"
      style={right ? { right: `${width - x + 8}px` } : { left: `${x + 8}px` }}
    >
      <div class="faint">
        {roundTime(span.edges[bar]!)} – {roundTime(span.edges[bar + 1]!)}
      </div>
      {shown.slice(0, MAX_ROWS).map(({ name, colour, text }) => (
        <div key={name} class="row">
          <i class={colour} />
          <span class="long">{name}</span>
          <b>{text}</b>
        </div>
      ))}
    </div>
  );
}
