import { count } from '../words/say.js';
import type { Box } from './axes.js';
import type { TooltipRow } from './tooltip.js';

/** One colour of the bars. */
export interface Layer {
  readonly name: string;
  /** The class that has its colour. */
  readonly colour: string;
  /** One for each bar. */
  readonly values: readonly number[];
  /** It stands still. */
  readonly hatched?: boolean;
}

/** The largest sum of a bar. */
export function highestOf(layers: readonly Layer[], bars: number): number {
  const sumOf = (bar: number) => layers.reduce((sum, { values }) => sum + (values[bar] ?? 0), 0);
  return Math.max(0, ...Array.from({ length: bars }, (_, bar) => sumOf(bar)));
}

/** Lines of a bar's tooltip, in the order of the stack from its top. */
export function rowsOf(layers: readonly Layer[], bar: number): TooltipRow[] {
  return layers.toReversed().map(({ name, colour, values }) => {
    const value = values[bar] ?? 0;
    return { name, colour, text: value === 0 ? '' : count(value) };
  });
}

/** Bars, each with its layers above one another. Even the smallest number is seen. */
export function Stacked({
  box,
  bars,
  layers,
  highest,
}: {
  readonly box: Box;
  readonly bars: number;
  readonly layers: readonly Layer[];
  readonly highest: number;
}) {
  const pitch = (box.right - box.left) / bars;
  const thick = Math.max(1, pitch - (pitch > 4 ? 1.5 : 0.5));
  const scale = (box.bottom - box.top) / highest;
  const tops = Array.from({ length: bars }, () => box.bottom);
  return (
    <g class="stack">
      {layers.some(({ hatched }) => hatched) && <Hatch />}
      {layers.map(({ colour, values, hatched }) =>
        tops.map((top, bar) => {
          const value = values[bar] ?? 0;
          if (value === 0) return undefined;
          const height = Math.max(value * scale, 1);
          tops[bar] = top - height;
          const place = { x: box.left + bar * pitch, width: thick, y: top - height, height };
          return (
            <g key={`${bar} ${colour}`}>
              <rect class={colour} {...place} />
              {hatched && <rect class="hatched" fill="url(#hatch)" {...place} />}
            </g>
          );
        }),
      )}
    </g>
  );
}

/** Lines that are laid over what stands still. */
function Hatch() {
  return (
    <defs>
      <pattern id="hatch" width={6} height={6} patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="hatch" width={3} height={6} />
      </pattern>
    </defs>
  );
}
