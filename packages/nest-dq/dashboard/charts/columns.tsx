import { useRef } from 'preact/hooks';
import { valueMarks, type Span } from '../figures/scales.js';
import { TimeAxis, ValueAxis, type Box } from './axes.js';
import { highestOf, Stacked, type Layer } from './stacked.js';
import { useWidth } from './width.js';

const HEIGHT = 180;

/** Stacked bars that are only looked at. A table has the same numbers. */
export function Columns({
  label,
  span,
  layers,
}: {
  readonly label: string;
  readonly span: Span;
  readonly layers: readonly Layer[];
}) {
  const holder = useRef<HTMLDivElement>(null);
  const width = useWidth(holder);
  const box: Box = { left: 56, right: Math.max(width - 4, 80), top: 8, bottom: HEIGHT - 26 };
  const marks = valueMarks(highestOf(layers, span.bars), 4);
  return (
    <div ref={holder} class="chart" role="img" aria-label={label}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <ValueAxis box={box} marks={marks} />
          <TimeAxis box={box} span={span} />
          <Stacked box={box} bars={span.bars} layers={layers} highest={marks.at(-1)!} />
        </svg>
      )}
    </div>
  );
}
