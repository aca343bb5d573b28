import type { SingleActs } from '../../src/dashboard/wire.js';
import { act, RequestError } from '../server/requests.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { tell } from '../state/notice.js';
import { Dialog } from '../parts/dialog.js';
import { t } from '../words/language.js';
import type { WordKey } from '../words/words.js';

/** Does an act, and tells what it led to. */
export async function doAct<Name extends keyof SingleActs>(
  name: Name,
  body: SingleActs[Name]['body'],
  after: () => void,
): Promise<void> {
  try {
    const result: unknown = await act(name, body);
    const isUnknown = typeof result === 'object' && result !== null && 'unknown' in result;
    // A job that runs now was moved, too, but nobody says so.
    const isPlain = typeof result !== 'string' || (name === 'runNow' && result === 'rescheduled');
    const told = t((isPlain ? `did.${name}` : `result.${result}`) as WordKey);
    tell(isUnknown ? `${told} ${t('tube.unknown')}` : told, isUnknown);
  } catch (error) {
    tell(errorText(error), true);
  }
  after();
}

export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return error instanceof RequestError ? `${error.code}: ${text}` : text;
}

/** Asks first: for what cannot be taken back. */
export function askFirst(title: string, text: string, label: string, go: () => void): void {
  showDialog(
    <Dialog title={title}>
      <p>{text}</p>
      <div class="buttons">
        <button class="button" onClick={closeDialog}>
          {t('act.cancel')}
        </button>
        <button
          class="button bad"
          onClick={() => {
            closeDialog();
            go();
          }}
        >
          {label}
        </button>
      </div>
    </Dialog>,
  );
}
