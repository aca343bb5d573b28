import { useState } from 'preact/hooks';
import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { tryAct } from './one.js';
import { PAUSE_ENDS, pauseUntil, type PauseEnd } from './pause-end.js';

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
  const [end, setEnd] = useState<PauseEnd>('resumed');
  const [field, setField] = useState('');
  const confirming = useConfirming('pause');
  const chosen = pauseUntil(end, field, now.peek());
  return (
    <Dialog title={t('pause.title', { tube })}>
      {isUnknown && <p class="warning">{t('tube.unknown')}</p>}
      <p>{t('pause.text')}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('act.pause')}
        tone="bad"
        disabled={!chosen}
        work={() => tryAct('pause', { tube, ...pauseUntil(end, field, now.peek()) }, after)}
      >
        <label>
          <span>{t('pause.end')}</span>
          <select value={end} onChange={({ currentTarget }) => setEnd(currentTarget.value as PauseEnd)}>
            {PAUSE_ENDS.map((each) => (
              <option key={each} value={each}>
                {t(`pause.${each}`)}
              </option>
            ))}
          </select>
        </label>
        {end === 'at' && (
          <label>
            <span>{t('move.time')}</span>
            <input
              type="datetime-local"
              step={1}
              value={field}
              onInput={({ currentTarget }) => setField(currentTarget.value)}
            />
          </label>
        )}
      </ConfirmForm>
    </Dialog>
  );
}
