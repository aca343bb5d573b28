// Rows of the lists on a page, by the keyboard: the focus is on what a row leads to, so that Enter opens it.

const ROWS = 'main tbody > tr:not(.below)';
/** The first that a row has: its name, or whatever can be opened. */
const TARGETS = ['td.lead :is(a, button)', 'a[href]', 'button', 'input'];

/** Moves the focus to another row; returns whether there is one. */
export function moveInList(by: 1 | -1): boolean {
  const rows = [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => targetOf(row));
  const at = rows.findIndex((row) => row === currentRow());
  const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : at + by];
  if (!next) return false;
  const target = targetOf(next)!;
  target.focus();
  next.scrollIntoView({ block: 'nearest' });
  return true;
}

/** Selects the row with the focus, or no longer; returns whether it can be selected. */
export function selectInList(): boolean {
  const box = currentRow()?.querySelector<HTMLInputElement>('td.pick input');
  box?.click();
  return box !== null && box !== undefined;
}

/** Reads the list again, if the page has one; returns whether it has. */
export function refreshList(): boolean {
  const button = document.querySelector<HTMLButtonElement>('main [data-refresh]');
  button?.click();
  return button !== null;
}

function targetOf(row: HTMLElement): HTMLElement | null {
  for (const target of TARGETS) {
    const found = row.querySelector<HTMLElement>(target);
    if (found) return found;
  }
  return null;
}

/** The row with the focus; a row below it belongs to it. */
function currentRow(): Element | null {
  const row = document.activeElement?.closest('main tbody > tr') ?? null;
  return row?.classList.contains('below') ? row.previousElementSibling : row;
}
