import { Fragment, type ComponentChildren, type RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useWidth } from '../charts/width.js';
import { quietly } from './quietly.js';

/** The widest window in pixels in which each row is a card, though broken words might let the table fit. */
const NARROW = 900;

export interface Column<Row> {
  readonly head: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  /** Stands right, so that digits align. */
  readonly number?: boolean;
  /** Left out where a window has little room: other columns say the same. */
  readonly extra?: boolean;
  /** The head is for screen readers only. */
  readonly quiet?: boolean;
  /** The head is a control of its own, which a card does not repeat. */
  readonly choice?: boolean;
  /**
   * Its place where rows are cards: the beginning or the end of the first line, or, with its head, the second one. If a column has
   * one, cards have two lines instead of one for each column.
   */
  readonly place?: 'lead' | 'end' | 'named';
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The class of a row. */
  readonly classOf?: (row: Row) => string | undefined;
  /** Renders the content below a row. */
  readonly below?: (row: Row) => ComponentChildren;
}

export function Table<Row>({
  empty,
  ...table
}: TableProps<Row> & {
  /** Text shown if there are no rows; empty if it is unknown whether there are any. */
  readonly empty: string;
}) {
  if (table.rows.length > 0) return <Rows {...table} />;
  return empty === '' ? null : <p class="empty">{empty}</p>;
}

/** A table, or a card for each row; it has its roles in words, since as cards the styles take them from the elements. */
function Rows<Row>({ label, columns, rows, keyOf, classOf, below }: TableProps<Row>) {
  const box = useRef<HTMLDivElement>(null);
  const cards = useCards(box);
  const short = columns.some(({ place }) => place !== undefined);
  return (
    <div ref={box} class="table">
      <table role="table" aria-label={label} class={cards ? `cards${short ? ' short' : ''}` : undefined}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ head, number, quiet, extra }, i) => (
              <th key={i} role="columnheader" scope="col" class={classesOf({ number, extra })}>
                {quiet ? <span class="unseen">{head}</span> : head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => (
            <Fragment key={keyOf(row)}>
              <tr role="row" class={classOf?.(row)}>
                {columns.map(({ head, cell, number, quiet, choice, extra, place }, i) => (
                  <td
                    key={i}
                    role="cell"
                    class={classesOf({ number, quiet, extra, pick: choice, [place ?? '']: true })}
                  >
                    {!quiet && !choice && (
                      <span class="head" aria-hidden="true">
                        {head}
                      </span>
                    )}
                    <span class="value">{quietly(cell(row))}</span>
                  </td>
                ))}
              </tr>
              {below?.(row) !== undefined && (
                <tr role="row" class="below">
                  <td role="cell" colSpan={columns.length}>
                    {below?.(row)}
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classesOf(given: Readonly<Record<string, boolean | undefined>>): string | undefined {
  const names = Object.keys(given).filter((name) => name !== '' && given[name]);
  return names.length > 0 ? names.join(' ') : undefined;
}

/** Whether the rows are cards: in narrow windows, and where the table would be wider than the room it has. */
function useCards(box: RefObject<HTMLElement | null>): boolean {
  const room = useWidth(box);
  const [needed, setNeeded] = useState(0);
  const cards = window.innerWidth <= NARROW || room < needed;
  useLayoutEffect(() => {
    const { scrollWidth, clientWidth } = box.current!;
    if (!cards && scrollWidth > clientWidth) setNeeded(scrollWidth);
  });
  return cards;
}
