import { useRef } from 'preact/hooks';
import { valueMarks, type Span } from '../figures/scales.js';
import { t } from '../words/language.js';
import { TimeAxis, ValueAxis, type Box } from './axes.js';
import { drawnLine, LineAndMarks, type Overlay, Shades } from './overlay.js';
import { highestOf, rowsOf, Stacked, type Layer } from './stacked.js';
import { Hovered, Tooltip, useHover, type TooltipRow } from './tooltip.js';
import { useWidth } from './width.js';

const HEIGHT = 180;

/** Stacked bars that are only looked at. A table has the same numbers. */
export function Columns({
  label,
  span,
  layers,
  overlay = {},
  notes = () => [],
}: {
  readonly label: string;
  readonly span: Span;
  readonly layers: readonly Layer[];
  readonly overlay?: Overlay;
  /** Further lines of a bar's tooltip. */
  readonly notes?: ((bar: number) => readonly TooltipRow[]) | undefined;
}) {
  const holder = useRef<HTMLDivElement>(null);
  const width = useWidth(holder);
  const box: Box = { left: 56, right: Math.max(width - 4, 80), top: 8, bottom: HEIGHT - 26 };
  const hover = useHover(holder, box, span.bars);
  const highest = highestOf(layers, span.bars);
  const line = drawnLine(overlay, highest);
  const marks = valueMarks(Math.max(highest, ...(line ?? [])), 4);
  return (
    <div ref={holder} class="chart" role="img" aria-label={label} {...hover.handlers}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <Shades box={box} span={span} overlay={overlay} />
          <ValueAxis box={box} marks={marks} />
          <TimeAxis box={box} span={span} />
          <Hovered hover={hover} box={box} />
          <Stacked box={box} bars={span.bars} layers={layers} highest={marks.at(-1)!} />
          <LineAndMarks box={box} span={span} overlay={overlay} line={line} highest={marks.at(-1)!} />
        </svg>
      )}
      {highest === 0 && <p class="nothing">{t('history.nothing')}</p>}
      <Tooltip
        hover={hover}
        width={width}
        span={span}
        rows={(bar) => [...rowsOf(layers, bar), ...notes(bar)]}
      />
    </div>
  );
}
