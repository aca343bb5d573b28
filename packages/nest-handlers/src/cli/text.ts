// Output of a command: content here, layout, escaping and colour in `linesOf` alone.
import { escaped } from '../escaped.js';

/** A colour or weight. */
export type Style = 'bold' | 'dim' | 'red' | 'yellow' | 'green' | 'cyan';

/** A text or number with a style, where the terminal takes one. */
export interface Styled {
  /** The text or number, without escaping. */
  readonly text: string | number;
  /** Style of the whole text. @default none */
  readonly style?: Style;
  /** Shorter forms for a narrow terminal, longest first: of a time, that without its date. @default none */
  readonly shorter?: readonly string[];
}

/** A value in a table, or a part of a line. */
export type Cell = string | number | Styled;

/**
 * How a column gives way on a narrow terminal. By default its longest texts are shortened in the middle.
 * - `time`: only by the shorter forms of its cells.
 * - `reason`: texts that don't fit wrap onto lines of their own below their row. Only for the last column.
 * - `optional`: is left out before names become illegible.
 */
export type Kind = 'time' | 'reason' | 'optional';

/** A column of a table. */
export interface Column {
  /** Heading. */
  readonly title: string;
  /** How its cells become shorter where the page is narrow. */
  readonly kind: Kind;
}

/** Rows in columns separated by a blank column. Numbers are right-aligned. */
export interface Table {
  /** The columns; a title alone is one of names or numbers. */
  readonly head: readonly (string | Column)[];
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
  /** Flag of the command that shows what a narrow table leaves out. @default none */
  readonly wideFlag?: string;
  /** Returns the text with a style, as the terminal takes it. */
  paint(style: Style, text: string): string;
}

/** A page without a terminal. */
export const PLAIN: Page = { width: Infinity, paint: (_style, text) => text };

/** Gives a text or number a style. */
export function styled(style: Style, cell: Cell): Styled {
  return typeof cell === 'object' ? { ...cell, style } : { text: cell, style };
}

/** A column that gives way in its own manner. */
export function column(kind: Kind, title: string): Column {
  return { title, kind };
}

/** Makes a table of columns and rows. */
export function table(head: Table['head'], rows: Table['rows']): Table {
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
/** Indentation of a reason below its row. */
const INDENT = 4;
/** Shorter texts, such as states, stay whole. */
const SHORT = 16;
/** Names keep this width as long as there are optional columns to leave out. */
const LEGIBLE_WIDTH = 20;
/** A column of longer texts isn't shortened below this width. */
const LEAST_WIDTH = 8;

/** A column as laid out. */
interface Laid {
  readonly title: string;
  readonly kind: Kind | undefined;
  readonly isNumber: boolean;
  /** Each cell's text, whole first, then its shorter forms. */
  readonly forms: readonly (readonly string[])[];
  readonly index: number;
}

function tableLines({ head, rows }: Table, page: Page): string[] {
  const columns = head.map((each, index): Laid => {
    const { title, kind } = typeof each === 'string' ? { title: each, kind: undefined } : each;
    const cells = rows.map((row) => row[index]!);
    return {
      title,
      kind,
      isNumber: cells.length > 0 && cells.every((cell) => typeof valueOf(cell) === 'number'),
      forms: cells.map((cell) => [shown(cell), ...shorterForms(cell)]),
      index,
    };
  });
  const { kept, widths, level } = fitted(columns, page.width);
  const below = rows.map((): string[] => []);
  const texts = kept.map((each, at) => {
    const whole = each.forms.map((forms) => formAt(forms, level));
    if (each.kind !== 'reason') return shortenedAll(whole, widths[at]!);
    return whole.map((text, row) => {
      if (text.length <= widths[at]!) return text;
      const room = Math.max(LEGIBLE_WIDTH, page.width - INDENT);
      below[row] = wrapped(text, room).map((part) => {
        return ' '.repeat(INDENT) + painted(rows[row]![each.index]!, part, page);
      });
      return '';
    });
  });
  const line = (cellOf: (at: number) => string, paint: (at: number, text: string) => string) =>
    widths
      .map((width, at) => {
        const text = cellOf(at);
        const blank = ' '.repeat(Math.max(0, width - text.length));
        if (kept[at]!.isNumber) return blank + paint(at, text);
        return paint(at, text) + (at === widths.length - 1 ? '' : blank);
      })
      .join(' '.repeat(GAP))
      .trimEnd();
  const title = (at: number) => (widths[at]! === 0 ? '' : kept[at]!.title);
  const leftOut = columns.filter((each) => !kept.includes(each)).map((each) => each.title);
  return [
    line(title, (_, text) => painted(styled('bold', text), text, page)),
    ...rows.flatMap((row, i) => [
      line(
        (at) => texts[at]![i]!,
        (at, text) => painted(row[kept[at]!.index]!, text, page),
      ),
      ...below[i]!,
    ]),
    ...(leftOut.length > 0 ? [page.paint('dim', leftOutText(leftOut, page.wideFlag))] : []),
  ];
}

function leftOutText(titles: readonly string[], wideFlag: string | undefined): string {
  const remedy = wideFlag === undefined ? '' : `; ${wideFlag} shows ${titles.length > 1 ? 'them' : 'it'}`;
  return `${titles.join(', ')} left out${remedy}`;
}

/** A table that fits a page: the columns that are kept, how wide they are, and how short the forms of their cells. */
interface Fit {
  readonly kept: readonly Laid[];
  readonly widths: number[];
  readonly level: number;
}

/**
 * Makes room in this order: reasons go below their rows, times get shorter, names are shortened but stay legible, optional columns
 * are left out from the last, names are shortened further, and at last any columns are left out.
 */
function fitted(columns: readonly Laid[], room: number): Fit {
  const levels = Math.max(0, ...columns.flatMap(({ forms }) => forms.map(({ length }) => length - 1)));
  for (let level = 0; level <= levels; level++) {
    const widths = widthsIn(columns, level, Infinity, room);
    if (widths) return { kept: columns, widths, level };
  }
  let kept = columns;
  for (;;) {
    const widths = widthsIn(kept, levels, LEGIBLE_WIDTH, room);
    if (widths) return { kept, widths, level: levels };
    const last = kept.findLast(({ kind }) => kind === 'optional');
    if (!last) break;
    kept = kept.filter((each) => each !== last);
  }
  for (;;) {
    const widths = widthsIn(kept, levels, LEAST_WIDTH, room);
    if (widths) return { kept, widths, level: levels };
    const others = kept.filter(({ kind }) => kind !== 'reason');
    if (others.length <= 1)
      return { kept, widths: kept.map(({ kind }) => (kind === 'reason' ? 0 : room)), level: levels };
    kept = kept.filter((each) => each !== others.at(-1));
  }
}

/** Returns widths that fit, with the longest names shortened to no less than `least`; or undefined if that isn't enough. */
function widthsIn(
  columns: readonly Laid[],
  level: number,
  least: number,
  room: number,
): number[] | undefined {
  const natural = columns.map(({ title, forms }) =>
    Math.max(title.length, ...forms.map((each) => formAt(each, level).length)),
  );
  const widths = natural.map((width, at) => (columns[at]!.kind === 'reason' ? 0 : width));
  const total = () => widths.reduce((sum, width) => sum + width + (width > 0 ? GAP : 0), -GAP);
  const isName = ({ kind, isNumber }: Laid) => !isNumber && (kind === undefined || kind === 'optional');
  while (total() > room) {
    const flexible = [...widths.keys()].filter((at) => {
      const limit = Math.max(columns[at]!.title.length, least);
      return isName(columns[at]!) && natural[at]! > SHORT && widths[at]! > limit;
    });
    if (flexible.length === 0) return undefined;
    const widest = flexible.reduce((a, b) => (widths[b]! > widths[a]! ? b : a));
    widths[widest]!--;
  }
  columns.forEach(({ kind, title }, at) => {
    if (kind !== 'reason') return;
    const left = room - total() - GAP;
    // Without room for its title, all of its texts go below.
    widths[at] = left >= title.length ? Math.min(left, natural[at]!) : 0;
  });
  return widths;
}

function formAt(forms: readonly string[], level: number): string {
  return forms[Math.min(level, forms.length - 1)]!;
}

/** Shortens the texts that are too long, and keeps what distinguishes those that would then look the same. */
export function shortenedAll(texts: readonly string[], width: number): string[] {
  const found = new Map(texts.map((text) => [text, shortened(text, width)]));
  const same = new Map<string, string[]>();
  for (const [text, short] of found) same.set(short, [...(same.get(short) ?? []), text]);
  for (const group of same.values()) {
    if (group.length < 2 || width < LEAST_WIDTH) continue;
    for (const [text, short] of distinguished(group, width)) found.set(text, short);
  }
  return texts.map((text) => found.get(text)!);
}

/** Shows different texts from where they begin to differ. */
function distinguished(group: readonly string[], width: number): [string, string][] {
  const [first = ''] = group;
  let common = 0;
  while (group.every((text) => text[common] === first[common])) common++;
  return group.map((text) => {
    const from = Math.max(0, Math.min(common - 2, text.length - (width - 1)));
    const rest = text.slice(from);
    return [text, `…${rest.length < width ? rest : `${rest.slice(0, width - 2)}…`}`];
  });
}

function valueOf(cell: Cell): string | number {
  return typeof cell === 'object' ? cell.text : cell;
}

function shown(cell: Cell): string {
  const value = valueOf(cell);
  return typeof value === 'number' ? grouped(value) : escaped(value);
}

function shorterForms(cell: Cell): string[] {
  return typeof cell === 'object' ? (cell.shorter ?? []).map((text) => escaped(text)) : [];
}

/** A zero is quieter than a fact. */
function painted(cell: Cell, text: string, page: Page): string {
  if (text === '') return text;
  if (typeof cell === 'object' && cell.style !== undefined) return page.paint(cell.style, text);
  return cell === 0 ? page.paint('dim', text) : text;
}

/** 12,412 */
export function grouped(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',');
}
