import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { tryAct } from './one.js';
import { PAUSE_ENDS } from './pause-end.js';
import { UntilFields, useUntil } from './until-fields.js';

/**
 * Asks for how long, and pauses the tube.
 * @param isUnknown Whether its name may be wrong.
 */
export function askPause(tube: string, after: () => void, isUnknown = false): void {
  showDialog(<PauseDialog tube={tube} after={after} isUnknown={isUnknown} />);
}

function PauseDialog({
  tube,
  after,
  isUnknown,
}: {
  readonly tube: string;
  readonly after: () => void;
  readonly isUnknown: boolean;
}) {
  const choice = useUntil('resumed');
  const confirming = useConfirming('pause');
  return (
    <Dialog title={t('pause.title', { tube })}>
      {isUnknown && <p class="warning">{t('tube.unknown')}</p>}
      <p>{t('pause.text')}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('act.pause')}
        disabled={!choice.until()}
        work={() => tryAct('pause', { tube, ...choice.until() }, after)}
      >
        <UntilFields choice={choice} ends={PAUSE_ENDS} resumed={t('pause.resumed')} />
      </ConfirmForm>
    </Dialog>
  );
}
