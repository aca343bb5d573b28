import { useRef } from 'preact/hooks';
import { LATENESS_STEPS, stepMarks, stepOf } from '../figures/steps.js';
import type { Span } from '../figures/scales.js';
import { lateText } from '../words/late.js';
import { t } from '../words/language.js';
import { TimeAxis, ValueAxis, type Box } from './axes.js';
import { LineAndMarks, type Overlay } from './overlay.js';
import { Hovered, Tooltip, useHover, type TooltipRow } from './tooltip.js';
import { useWidth } from './width.js';

/** One line of the chart: milliseconds by bar. */
export interface LatenessLine {
  readonly name: string;
  readonly colour: string;
  readonly values: readonly (number | undefined)[];
}

/** Minimum of the scale: 50 ms, or prompt runs would look late. Small charts go to 10 s, so that rows compare. */
const LEAST_STEPS = 6;
const LEAST_STEPS_SMALL = 13;
const MOST_MARKS = 6;

/** Lateness over time, on the steps in which it is counted. */
export function LatenessChart({
  label,
  span,
  lines,
  small,
  overlay = {},
  notes = () => [],
}: {
  readonly label: string;
  readonly span: Span;
  readonly lines: readonly LatenessLine[];
  /** Without axes. */
  readonly small?: boolean;
  readonly overlay?: Overlay;
  /** Further lines of a bar's tooltip. */
  readonly notes?: (bar: number) => readonly TooltipRow[];
}) {
  const holder = useRef<HTMLDivElement>(null);
  const width = useWidth(holder);
  const height = small ? 28 : 180;
  const box: Box = small
    ? { left: 2, right: Math.max(width - 2, 10), top: 3, bottom: height - 3 }
    : { left: 64, right: Math.max(width - 4, 80), top: 8, bottom: height - 26 };
  const hover = useHover(holder, box, span.bars);
  const known = lines.flatMap(({ values }) => values.filter((value) => value !== undefined));
  const most = Math.min(
    LATENESS_STEPS.length,
    Math.max(small ? LEAST_STEPS_SMALL : LEAST_STEPS, ...known.map(stepOf)),
  );
  const pitch = (box.right - box.left) / span.bars;
  const yOf = (value: number) => box.bottom - (stepOf(value) / most) * (box.bottom - box.top);
  const name = (step: number) => (step === 0 ? '' : lateText(LATENESS_STEPS[step - 1]!));
  return (
    <div
      ref={holder}
      class={small ? 'chart small' : 'chart'}
      role="img"
      aria-label={label}
      {...hover.handlers}
    >
      {width > 0 && (
        <svg width={width} height={height} aria-hidden="true">
          {!small && <ValueAxis box={box} marks={stepMarks(most, MOST_MARKS)} name={name} />}
          {!small && <TimeAxis box={box} span={span} />}
          <Hovered hover={hover} box={box} />
          {small && <line class="base" x1={0} x2={width} y1={box.bottom + 1} y2={box.bottom + 1} />}
          {small &&
            lines.map(({ colour, values }) => (
              <path key={colour} class={`area ${colour}`} d={areaOf(values, box, pitch, yOf)} />
            ))}
          {lines.map(({ colour, values }) => (
            <path key={colour} class={`line ${colour}`} d={pathOf(values, box.left, pitch, yOf)} />
          ))}
          <LineAndMarks box={box} span={span} overlay={overlay} line={undefined} highest={most} />
        </svg>
      )}
      {!small && known.length === 0 && <p class="nothing">{t('history.noRuns')}</p>}
      <Tooltip
        hover={hover}
        width={width}
        span={span}
        rows={(bar) => [
          ...lines.map(({ values, ...line }) => ({
            ...line,
            text: values[bar] === undefined ? '' : lateText(values[bar]),
          })),
          ...notes(bar),
        ]}
      />
    </div>
  );
}

/** From each level down to the base. */
function areaOf(
  values: readonly (number | undefined)[],
  { left, bottom }: Box,
  pitch: number,
  yOf: (value: number) => number,
): string {
  return values
    .map((value, bar) => {
      if (value === undefined) return '';
      return `M${(left + bar * pitch).toFixed(1)} ${bottom}V${yOf(value).toFixed(1)}h${pitch.toFixed(1)}V${bottom}`;
    })
    .join('');
}

/** Level through each bar, with a gap where nothing is known. */
function pathOf(
  values: readonly (number | undefined)[],
  left: number,
  pitch: number,
  yOf: (value: number) => number,
): string {
  let open = false;
  return values
    .map((value, bar) => {
      if (value === undefined) {
        open = false;
        return '';
      }
      const [x, y] = [left + bar * pitch, yOf(value)];
      const begin = `${open ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`;
      open = true;
      return `${begin}H${(x + pitch).toFixed(1)}`;
    })
    .join('');
}
