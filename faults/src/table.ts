import { tableLine } from 'test-servers';
import type { Ending } from './ending.js';
import type { Row } from './runner.js';

export interface Column<R> {
  readonly title: readonly [string, string];
  readonly width: number;
  readonly cell: (row: R) => string;
}

const NAME_WIDTH = 22;
const COLUMNS: readonly Column<Row>[] = [
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

/** The results of experiments, a line or more for each. */
export class Table<R extends Ending> {
  constructor(private readonly columns: readonly Column<R>[]) {}

  /** The two lines above the rows. */
  heading(): string {
    const line = (index: 0 | 1) => this.line(({ title }) => title[index]);
    return `${' '.repeat(NAME_WIDTH + 3)}${line(0)}\n${' #'} ${'experiment'.padEnd(NAME_WIDTH)}${line(1)}\n`;
  }

  /** The rest of the row. The lines below it have its notes, and why it did not pass. */
  restOfRow(row: R): string {
    const below = [...row.notes, ...row.why, ...(row.logs ? [`logs: ${row.logs}`] : [])];
    return [this.line(({ cell }) => cell(row)), ...below.map((text) => `     ${text}`), ''].join('\n');
  }

  private line(text: (column: Column<R>) => string): string {
    return tableLine(['', ...this.columns.map(text)], [0, ...this.columns.map(({ width }) => width)], ' ');
  }
}

export const jobTable = new Table(COLUMNS);

/** The part of a row that is known before the experiment runs. */
export function beginOfRow(number: number, name: string): string {
  return `${String(number).padStart(2)} ${name.padEnd(NAME_WIDTH)}`;
}

export function seconds(ms: number | null): string {
  return ms === null ? '–' : `${(ms / 1000).toFixed(2)} s`;
}
