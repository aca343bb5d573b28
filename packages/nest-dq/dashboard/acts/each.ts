import { tell } from '../state/notice.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { errorText } from './one.js';

/** One act for each row, since an act on many has no list of ids. It ends with the first that fails. */
export async function actOnEach<Row>(
  rows: readonly Row[],
  work: (row: Row) => Promise<string>,
  after: () => void,
): Promise<void> {
  let done = 0;
  const result = () => t('rows.changed', { done: count(done), rows: count(rows.length) });
  try {
    for (const row of rows) if (DONE.includes(await work(row))) done++;
    tell(result());
  } catch (error) {
    tell(`${result()} ${errorText(error)}`, true);
  }
  after();
}

/** Title of the question whether to discard the chosen letters. */
export function discardTitle(letters: number): string {
  return letters === 1 ? t('discard.one') : t('discard.some', { letters: count(letters) });
}

/** Title of the question whether to revive them. */
export function reviveTitle(letters: number): string {
  return letters === 1 ? t('revive.one') : t('revive.some', { letters: count(letters) });
}

/** Results by which a row was changed. */
const DONE: readonly string[] = ['rescheduled', 'revoked', 'revived', 'discarded', 'replayed'];
