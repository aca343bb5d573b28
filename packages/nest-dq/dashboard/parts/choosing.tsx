import { useKept } from '../state/kept.js';
import { t } from '../words/language.js';
import type { Column } from './table.js';

/** Rows of a table that the viewer chooses; still chosen when they come back to the page. */
export interface Choosing<Row> {
  readonly chosen: readonly Row[];
  readonly clear: () => void;
  /** The column with the boxes. */
  readonly column: Column<Row>;
}

/** @param nameOf For screen readers. */
export function useChoosing<Row>(
  rows: readonly Row[],
  idOf: (row: Row) => string,
  nameOf: (row: Row) => string = idOf,
): Choosing<Row> {
  const [ids, setIds] = useKept<ReadonlySet<string>>('chosen', new Set());
  const chosen = rows.filter((row) => ids.has(idOf(row)));
  const toggle = (some: readonly string[], on: boolean) =>
    setIds((others) => new Set(on ? [...others, ...some] : [...others].filter((id) => !some.includes(id))));
  return {
    chosen,
    clear: () => setIds(new Set()),
    column: {
      head: (
        <input
          type="checkbox"
          aria-label={t('rows.chooseAll')}
          checked={rows.length > 0 && chosen.length === rows.length}
          onChange={({ currentTarget }) => toggle(rows.map(idOf), currentTarget.checked)}
        />
      ),
      choice: true,
      cell: (row) => (
        <input
          type="checkbox"
          aria-label={t('rows.choose', { id: nameOf(row) })}
          checked={ids.has(idOf(row))}
          disabled={!rows.includes(row)}
          onChange={({ currentTarget }) => toggle([idOf(row)], currentTarget.checked)}
        />
      ),
    },
  };
}
