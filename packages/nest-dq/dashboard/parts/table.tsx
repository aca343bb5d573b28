import { Fragment, type ComponentChildren } from 'preact';

export interface Column<Row> {
  readonly head: ComponentChildren;
  readonly cell: (row: Row) => ComponentChildren;
  /** Stands right, so that digits align. */
  readonly number?: boolean;
  /** The head is for screen readers only. */
  readonly quiet?: boolean;
  /** The head is a control of its own, which a card does not repeat. */
  readonly choice?: boolean;
}

/** A table; on narrow screens each row is a card, so it has its roles in words: the styles take them from the elements. */
export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  below,
  empty,
}: {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** What a row shows below itself. */
  readonly below?: (row: Row) => ComponentChildren;
  /** What is said without a row; nothing if it is not known whether there are any. */
  readonly empty: string;
}) {
  if (rows.length === 0) return empty === '' ? null : <p class="empty">{empty}</p>;
  return (
    <table role="table" aria-label={label}>
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ head, number, quiet }, i) => (
            <th key={i} role="columnheader" scope="col" class={number ? 'number' : undefined}>
              {quiet ? <span class="unseen">{head}</span> : head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <Fragment key={keyOf(row)}>
            <tr role="row">
              {columns.map(({ head, cell, number, quiet, choice }, i) => (
                <td key={i} role="cell" class={number ? 'number' : undefined}>
                  {!quiet && !choice && (
                    <span class="head" aria-hidden="true">
                      {head}
                    </span>
                  )}
                  <span class="value">{cell(row)}</span>
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
  );
}
