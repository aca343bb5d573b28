import { useRef } from 'preact/hooks';
import type { SingleActs } from '../../src/dashboard/wire.js';
import { act, RequestError } from '../server/requests.js';
import { closeDialog, showDialog, shownDialog } from '../state/dialog.js';
import { tell } from '../state/notice.js';
import { Dialog } from '../parts/dialog.js';
import { PendingButton } from '../parts/pending-button.js';
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
    const runsNow = name === 'runNow' || name === 'runEdited';
    const isPlain = typeof result !== 'string' || (runsNow && result === 'rescheduled');
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

/** Asks first: for what cannot be taken back. The dialog stays until the act is over. */
export function askFirst(title: string, text: string, label: string, go: () => Promise<void>): void {
  showDialog(<AskDialog title={title} text={text} label={label} go={go} />);
}

function AskDialog({
  title,
  text,
  label,
  go,
}: {
  readonly title: string;
  readonly text: string;
  readonly label: string;
  readonly go: () => Promise<void>;
}) {
  const own = useRef(shownDialog.peek());
  const confirm = async () => {
    await go();
    if (shownDialog.peek() === own.current) closeDialog();
  };
  return (
    <Dialog title={title}>
      <p>{text}</p>
      <div class="buttons">
        <button class="button" onClick={closeDialog}>
          {t('act.cancel')}
        </button>
        <PendingButton bad label={label} onClick={confirm} />
      </div>
    </Dialog>
  );
}
