// The results as text: one block for each measure.
import { tableLine } from 'test-servers';
import type { Figure, Result, Row, Target, Unit } from './measure.js';

const DECIMALS: Readonly<Record<Unit, number>> = {
  'jobs/s': 0,
  ms: 2,
  s: 2,
  'µs/job': 1,
  bytes: 0,
  'bytes/job': 0,
  jobs: 0,
  '%': 2,
  'a job': 3,
  connections: 0,
  answers: 0,
  'messages/s': 0,
  'µs/message': 1,
};

interface Column {
  readonly title: string;
  readonly cell: (row: Row) => string;
}

const columnsOf = (ours: string): readonly Column[] => [
  { title: ours, cell: ({ ours, unit }) => number(ours.median, unit) },
  { title: 'range', cell: ({ ours, unit }) => range(ours, unit) },
  { title: 'beside', cell: ({ beside, unit }) => (beside ? number(beside.median, unit) : '') },
  { title: 'range', cell: ({ beside, unit }) => (beside ? range(beside, unit) : '') },
  { title: '', cell: ({ beside }) => beside?.name ?? '' },
  { title: 'ratio', cell: ({ ratio }) => (ratio === undefined ? '' : times(ratio)) },
  { title: 'target', cell: ({ target, unit }) => (target ? targetText(target, unit) : '') },
  { title: 'met', cell: ({ met }) => (met === undefined ? '' : met ? 'yes' : 'NO') },
  { title: 'stolen', cell: ({ disturbance }) => share(disturbance.stolen) },
  { title: 'disk', cell: ({ disturbance }) => share(disturbance.disk) },
];

/** A title, a heading, and a line for each row. */
export function table({ measure, ours, title, runs = 1, took, rows }: Result): string {
  const columns = columnsOf(ours);
  const lines = [
    ['', ...columns.map((column) => column.title)],
    ...rows.map((row) => [`${row.what}, ${row.unit}`, ...columns.map(({ cell }) => cell(row))]),
  ];
  const widths = lines[0]!.map((_, index) => Math.max(...lines.map((line) => line[index]!.length)));
  const text = lines.map((line) => tableLine(line, widths));
  const about = `${runs > 1 ? `median of ${runs} runs, ` : ''}${took.toFixed(0)} s`;
  return [`${measure}: ${title} (${about})`, ...text.map((line) => `  ${line}`), ''].join('\n');
}

/** A number with the decimals of its unit, and a comma between thousands. */
export function number(value: number, unit: Unit): string {
  if (Number.isNaN(value)) return '–';
  const decimals = DECIMALS[unit];
  return rounded(value, decimals).toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

function range({ low, high }: Figure, unit: Unit): string {
  return low === high ? '' : `${number(low, unit)}–${number(high, unit)}`;
}

function share(percent: number | undefined): string {
  return percent === undefined ? '' : `${rounded(percent, 1).toFixed(1)} %`;
}

function times(ratio: number): string {
  const decimals = ratio < 0.1 ? 3 : 2;
  return `${rounded(ratio, decimals).toFixed(decimals)}×`;
}

/** Never -0. */
function rounded(value: number, decimals: number): number {
  return Number(value.toFixed(decimals)) + 0;
}

function targetText({ of, least, most }: Target, unit: Unit): string {
  const text = (limit: number) => (of === 'ratio' ? `${Number(limit.toFixed(2))}×` : `${limit} ${unit}`);
  return [
    ...(least === undefined ? [] : [`≥ ${text(least)}`]),
    ...(most === undefined ? [] : [`≤ ${text(most)}`]),
  ].join(', ');
}
