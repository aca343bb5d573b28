import { tell } from '../state/notice.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { errorText } from './one.js';

/** One act for each letter, as an act on many has no list of ids. It ends with the first that fails. */
export async function actOnEach<Letter>(
  letters: readonly Letter[],
  work: (letter: Letter) => Promise<string>,
  after: () => void,
): Promise<void> {
  let done = 0;
  const told = () => t('dead.changed', { done: count(done), letters: count(letters.length) });
  try {
    for (const letter of letters) if (DONE.includes(await work(letter))) done++;
    tell(told());
  } catch (error) {
    tell(`${told()} ${errorText(error)}`, true);
  }
  after();
}

/** Title of the question whether to discard the chosen letters. */
export function discardTitle(letters: number): string {
  return letters === 1 ? t('discard.one') : t('discard.some', { letters: count(letters) });
}

/** Results by which a letter was changed. */
const DONE: readonly string[] = ['revived', 'discarded', 'replayed'];
