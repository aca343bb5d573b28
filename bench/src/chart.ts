// The chart, as plain SVG: the bars of nest-dq and of BullMQ, one below the other.
import type { Result, Row } from './measure.js';
import { number } from './table.js';

interface Panel {
  readonly title: string;
  readonly better: 'more' | 'less';
  readonly measure: string;
  /** Whether this row of the measure is the one that is shown. */
  readonly finds: (row: Row) => boolean;
}

const PANELS: readonly Panel[] = [
  {
    title: 'Schedule, 3 copies',
    better: 'more',
    measure: 'schedule',
    finds: ({ what }) => what === '3 copies',
  },
  { title: 'Drain, 3 copies', better: 'more', measure: 'drain', finds: ({ unit }) => unit === 'jobs/s' },
  {
    title: 'Lateness at 2,000/s, p99',
    better: 'less',
    measure: 'lateness',
    finds: ({ what }) => what === '2,000/s: p99',
  },
];

/** The measures without which there is no chart. */
export const CHARTED: readonly string[] = PANELS.map(({ measure }) => measure);

const WIDTH = 760;
const PANEL_HEIGHT = 76;
const EDGE = 16;
const BAR_LEFT = EDGE + 72;
const BAR_HEIGHT = 18;
/** The length of the longest bar. There must be room for its number to the right of it. */
const LONGEST = 500;

/** The chart has a background of its own, because a dark page may show it although the reader's system is light. */
const STYLE = `.back{fill:#fff}text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-weight:600}.note{font-size:11px;fill:#59636e}
.ours{fill:#1a7f64}.peer{fill:#9aa4b0}
@media(prefers-color-scheme:dark){.back{fill:#0d1117}text{fill:#e6edf3}.note{fill:#9198a1}.ours{fill:#3fb68b}.peer{fill:#6e7681}}`;

/** Throws if the results lack a measure that the chart shows. `note` is the text below the bars. */
export function chart(results: readonly Result[], note: string): string {
  const height = PANELS.length * PANEL_HEIGHT + 2 * EDGE + 14;
  const panels = PANELS.map((panel, index) =>
    drawn(panel, rowOf(panel, results), EDGE + index * PANEL_HEIGHT),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="nest-dq and BullMQ: schedule, drain, lateness">
<style>${STYLE}</style>
<rect class="back" width="${WIDTH}" height="${height}" rx="8"/>
${panels.join('\n')}
<text class="note" x="${EDGE}" y="${height - EDGE}">${escaped(note)}</text>
</svg>
`;
}

function rowOf({ measure, title, finds }: Panel, results: readonly Result[]): Row {
  const row = results.find((result) => result.measure === measure)?.rows.find(finds);
  if (!row) throw new Error(`the chart shows "${title}" and needs the measure ${measure}`);
  return row;
}

function drawn({ title, better }: Panel, { ours, beside, unit }: Row, top: number): string {
  const most = Math.max(ours.median, beside?.median ?? 0);
  const bar = (name: string, style: string, value: number, y: number) => {
    const width = Math.max(2, (LONGEST * value) / most).toFixed(1);
    const textY = y + BAR_HEIGHT - 5;
    return `<text x="${EDGE}" y="${textY}">${name}</text><rect class="${style}" x="${BAR_LEFT}" y="${y}" width="${width}" height="${BAR_HEIGHT}" rx="2"/><text x="${(BAR_LEFT + Number(width) + 8).toFixed(1)}" y="${textY}">${number(value, unit)} ${unit}</text>`;
  };
  return [
    `<text class="title" x="${EDGE}" y="${top + 12}">${escaped(title)} <tspan class="note">${better} is better</tspan></text>`,
    bar('nest-dq', 'ours', ours.median, top + 20),
    bar('BullMQ', 'peer', beside?.median ?? 0, top + 42),
  ].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
