// Output of a command: content here, layout, escaping and colour in `linesOf` alone.
import { escaped } from '../escaped.js';

/** A colour or weight. */
export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan';

/** A text or number with a style, where the terminal takes one. */
export interface Styled {
  /** The text or number, without escaping. */
  readonly text: string | number;
  /** Style of the whole text. */
  readonly style: Style;
}

/** A value in a table, or a part of a line. */
export type Cell = string | number | Styled;

/** Rows in columns separated by a blank column. Numbers are right-aligned. */
export interface Table {
  /** Titles of the columns. */
  readonly head: readonly string[];
  /** Cells of each row, one per column. */
  readonly rows: readonly (readonly Cell[])[];
}

/** One line, as a whole or in parts; or a table, which has several. */
export type Line = string | Styled | readonly Cell[] | Table;

/**
 * Output of a command for people: one line, or several, possibly laid out for a terminal of `width` columns (`Infinity`
 * without one). A line break within a line is escaped like any other control character.
 */
export type Text = string | readonly Line[] | ((width: number) => readonly Line[]);

/** Where text is shown. */
export interface Page {
  /** Number of columns; `Infinity` without a terminal. */
  readonly width: number;
  /** Returns the text with a style, as the terminal takes it. */
  paint(style: Style, text: string): string;
}

/** A page without a terminal. */
export const PLAIN: Page = { width: Infinity, paint: (_style, text) => text };

/** Gives a text or number a style. */
export function styled(style: Style, text: string | number): Styled {
  return { text, style };
}

/** Makes a table of titles and rows. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): Table {
  return { head, rows };
}

/** Lays out the text in lines that are safe for a terminal: what others wrote is escaped here, whatever command shows it. */
export function linesOf(text: Text, page: Page = PLAIN): string[] {
  if (typeof text === 'function') return linesOf(text(page.width), page);
  if (typeof text === 'string') return [escaped(text)];
  return text.flatMap((line) => {
    if (typeof line === 'object' && 'rows' in line) return tableLines(line, page);
    const parts = Array.isArray(line) ? (line as readonly Cell[]) : [line as string | Styled];
    return [parts.map((part) => painted(part, shown(part), page)).join('')];
  });
}

/** Shortens a text in the middle, since names often differ at their end. */
export function shortened(text: string, width: number): string {
  if (text.length <= width) return text;
  const tail = Math.floor((width - 1) / 2);
  return `${text.slice(0, width - 1 - tail)}…${tail > 0 ? text.slice(-tail) : ''}`;
}

/** Breaks a text between words into lines of at most `width` characters. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const GAP = 2;
/** Shorter texts, such as times, stay whole. */
const SHORT = 16;
/** A column of longer texts isn't shortened below this width. */
const LEAST_WIDTH = 8;

function tableLines({ head, rows }: Table, page: Page): string[] {
  const texts = rows.map((row) => row.map(shown));
  const isNumber = head.map(
    (_, column) => rows.length > 0 && rows.every((row) => typeof valueOf(row[column]!) === 'number'),
  );
  const natural = head.map((title, column) =>
    Math.max(title.length, ...texts.map((row) => row[column]!.length)),
  );
  const widths = fitted(natural, head, isNumber, page.width);
  const line = (cells: readonly string[], paint: (column: number, text: string) => string) =>
    widths
      .map((width, column) => {
        const text = shortened(cells[column]!, width);
        const blank = ' '.repeat(width - text.length);
        const isLast = column === widths.length - 1;
        if (isNumber[column]) return blank + paint(column, text);
        return paint(column, text) + (isLast ? '' : blank);
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  return [
    line(head, (_, text) => painted(styled('bold', text), text, page)),
    ...rows.map((row, i) => line(texts[i]!, (column, text) => painted(row[column]!, text, page))),
  ];
}

/** Shortens the widest texts, then leaves out the last columns, until the table fits. */
function fitted(
  natural: readonly number[],
  head: readonly string[],
  isNumber: readonly boolean[],
  room: number,
): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, width) => sum + width, (widths.length - 1) * GAP);
  const least = (column: number) => Math.max(head[column]!.length, LEAST_WIDTH);
  while (total() > room) {
    const flexible = [...widths.keys()].filter(
      (column) => !isNumber[column] && natural[column]! > SHORT && widths[column]! > least(column),
    );
    if (flexible.length === 0) break;
    const widest = flexible.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    widths[widest]!--;
  }
  while (total() > room && widths.length > 1) widths.pop();
  return widths;
}

function valueOf(cell: Cell): string | number {
  return typeof cell === 'object' ? cell.text : cell;
}

function shown(cell: Cell): string {
  const value = valueOf(cell);
  return typeof value === 'number' ? grouped(value) : escaped(value);
}

/** A zero is quieter than a fact. */
function painted(cell: Cell, text: string, page: Page): string {
  if (text === '') return text;
  if (typeof cell === 'object') return page.paint(cell.style, text);
  return cell === 0 ? page.paint('dim', text) : text;
}

/** 12,412 */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
