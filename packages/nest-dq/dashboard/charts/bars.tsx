import { useRef, useState } from 'preact/hooks';
import { valueMarks, type Span } from '../figures/scales.js';
import { TimeAxis, ValueAxis, type Box } from './axes.js';
import { drawnLine, LineAndMarks, type Overlay, Shades } from './overlay.js';
import { highestOf, rowsOf, Stacked, type Layer } from './stacked.js';
import { Hovered, Tooltip, useHover } from './tooltip.js';
import { useWidth } from './width.js';

const HEIGHT = 220;
const DRAG = 4;

/**
 * Stacked bars over time. The arrow keys go from bar to bar, Enter zooms in, Escape out; a drag with the pointer zooms into what it
 * covers. For screen readers it is a slider that says each bar; a table behind the chart has all of it.
 */
export function Bars({
  label,
  span,
  layers,
  overlay = {},
  nothing,
  chosen,
  tell,
  onChoose,
  onZoom,
  onBack,
}: {
  readonly label: string;
  readonly span: Span;
  readonly layers: readonly Layer[];
  readonly overlay?: Overlay;
  /** Said where all bars are empty; absent while that isn't known. */
  readonly nothing?: string | undefined;
  readonly chosen: number | undefined;
  /** Returns a bar's description in words. */
  readonly tell: (bar: number) => string;
  readonly onChoose: (bar: number) => void;
  /** The first and the last bar. */
  readonly onZoom: (first: number, last: number) => void;
  readonly onBack: () => void;
}) {
  const holder = useRef<HTMLDivElement>(null);
  const width = useWidth(holder);
  const [drag, setDrag] = useState<{ readonly from: number; readonly to: number }>();
  const { bars } = span;
  const box: Box = { left: 40, right: Math.max(width - 4, 60), top: 8, bottom: HEIGHT - 26 };
  const hover = useHover(holder, box, bars);
  const highest = highestOf(layers, bars);
  const line = drawnLine(overlay, highest);
  const marks = valueMarks(Math.max(highest, ...(line ?? [])), 4);
  const pitch = (box.right - box.left) / bars;
  const barAt = (x: number) => Math.min(bars - 1, Math.max(0, Math.floor((x - box.left) / pitch)));
  const xIn = (event: PointerEvent) => event.clientX - holder.current!.getBoundingClientRect().left;
  const ends = drag && [barAt(Math.min(drag.from, drag.to)), barAt(Math.max(drag.from, drag.to))];

  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => onChoose(Math.max(0, (chosen ?? bars) - 1)),
    ArrowRight: () => onChoose(Math.min(bars - 1, (chosen ?? -1) + 1)),
    Home: () => onChoose(0),
    End: () => onChoose(bars - 1),
    Enter: () => chosen !== undefined && onZoom(chosen, chosen),
    Escape: onBack,
  };
  return (
    <div
      ref={holder}
      class="chart bars"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={bars - 1}
      aria-valuenow={chosen ?? 0}
      aria-valuetext={tell(chosen ?? 0)}
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        act();
      }}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: xIn(event), to: xIn(event) });
      }}
      onPointerLeave={hover.handlers.onPointerLeave}
      onPointerMove={(event) => {
        hover.handlers.onPointerMove(event);
        if (drag) setDrag({ from: drag.from, to: xIn(event) });
      }}
      onPointerCancel={() => setDrag(undefined)}
      onPointerUp={(event) => {
        if (!drag || !ends) return;
        setDrag(undefined);
        if (Math.abs(xIn(event) - drag.from) < DRAG) onChoose(barAt(xIn(event)));
        else onZoom(ends[0]!, ends[1]!);
      }}
      onDblClick={(event) => {
        const bar = barAt(event.clientX - holder.current!.getBoundingClientRect().left);
        onZoom(bar, bar);
      }}
    >
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          <Shades box={box} span={span} overlay={overlay} />
          <ValueAxis box={box} marks={marks} />
          <TimeAxis box={box} span={span} />
          {!drag && <Hovered hover={hover} box={box} />}
          {ends && (
            <rect
              class="dragged"
              x={box.left + ends[0]! * pitch}
              width={(ends[1]! - ends[0]! + 1) * pitch}
              y={box.top}
              height={box.bottom - box.top}
            />
          )}
          {chosen !== undefined && (
            <rect
              class="chosen"
              x={box.left + chosen * pitch}
              width={pitch}
              y={box.top}
              height={box.bottom - box.top}
            />
          )}
          <Stacked box={box} bars={bars} layers={layers} highest={marks.at(-1)!} />
          <LineAndMarks box={box} span={span} overlay={overlay} line={line} highest={marks.at(-1)!} />
        </svg>
      )}
      {highest === 0 && nothing !== undefined && <p class="nothing">{nothing}</p>}
      {!drag && <Tooltip hover={hover} width={width} span={span} rows={(bar) => rowsOf(layers, bar)} />}
    </div>
  );
}
