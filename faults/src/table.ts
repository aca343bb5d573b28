import { tableLine } from 'test-servers';
import type { Row } from './runner.js';

interface Column {
  readonly title: readonly [string, string];
  readonly width: number;
  readonly cell: (row: Row) => string;
}

const NAME_WIDTH = 22;
const COLUMNS: readonly Column[] = [
  { title: ['', 'jobs'], width: 6, cell: ({ jobs }) => String(jobs) },
  { title: ['', 'lost'], width: 5, cell: ({ lost }) => String(lost) },
  { title: ['', 'early'], width: 5, cell: ({ early }) => String(early) },
  { title: ['dupli-', 'cates'], width: 6, cell: ({ duplicates }) => String(duplicates) },
  { title: ['after', 'revoke'], width: 6, cell: ({ ranAfterRevoke }) => String(ranAfterRevoke) },
  { title: ['wrong', 'gen.'], width: 5, cell: ({ wrongGeneration }) => String(wrongGeneration) },
  { title: ['worst', 'lateness'], width: 8, cell: ({ worstLateness }) => seconds(worstLateness) },
  { title: ['recovery', 'time'], width: 8, cell: ({ recovery }) => seconds(recovery) },
  { title: ['ledger', 'records'], width: 7, cell: ({ ledgerRecords }) => ledgerRecords?.toString() ?? '–' },
  { title: ['', 'passed'], width: 6, cell: ({ passed }) => (passed ? 'yes' : 'NO') },
];

/** The two lines above the rows. */
export function heading(): string {
  const line = (index: 0 | 1) => columns(({ title }) => title[index]);
  return `${' '.repeat(NAME_WIDTH + 3)}${line(0)}\n${' #'} ${'experiment'.padEnd(NAME_WIDTH)}${line(1)}\n`;
}

/** The part of a row that is known before the experiment runs. */
export function beginOfRow(number: number, name: string): string {
  return `${String(number).padStart(2)} ${name.padEnd(NAME_WIDTH)}`;
}

/** The rest of the row. The lines below it have its notes, and why it did not pass. */
export function restOfRow(row: Row): string {
  const below = [...row.notes, ...row.why, ...(row.logs ? [`all logs are in ${row.logs}`] : [])];
  return [columns(({ cell }) => cell(row)), ...below.map((text) => `     ${text}`), ''].join('\n');
}

function columns(text: (column: Column) => string): string {
  return tableLine(['', ...COLUMNS.map(text)], [0, ...COLUMNS.map(({ width }) => width)], ' ');
}

function seconds(ms: number | null): string {
  return ms === null ? '–' : `${(ms / 1000).toFixed(2)} s`;
}
