import { useState } from 'preact/hooks';
import type { TubeWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { limitsText } from '../words/limits.js';
import { ActButton } from './act-button.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { LIMIT_NAMES, NO_LIMITS, typedLimits } from './limit-fields.js';
import { doAct, tryAct } from './one.js';
import { pauseUntil, type PauseEnd } from './pause-end.js';

const ENDS = ['hour', 'resumed', 'at'] as const satisfies readonly PauseEnd[];

/** Changes the limits of a tube while it runs, and resets them. The processes report them within seconds. */
export function LimitButtons({ tube, after }: { readonly tube: TubeWire; readonly after: () => void }) {
  const { tube: name, changedLimits } = tube;
  const open = () => showDialog(<LimitsDialog tube={tube} after={after} />);
  return (
    <>
      <ActButton act="setLimits" label={t('act.setLimits')} about={name} onClick={open} />
      {changedLimits && (
        <ActButton
          act="resetLimits"
          label={t('act.resetLimits')}
          about={name}
          onClick={() => doAct('resetLimits', { tube: name }, after)}
        />
      )}
    </>
  );
}

function LimitsDialog({
  tube: { tube, limits },
  after,
}: {
  readonly tube: TubeWire;
  readonly after: () => void;
}) {
  const [fields, setFields] = useState(NO_LIMITS);
  const [end, setEnd] = useState<(typeof ENDS)[number]>('hour');
  const [field, setField] = useState('');
  const confirming = useConfirming('setLimits');
  const until = () => pauseUntil(end, field, now.peek());
  const typed = typedLimits(fields);
  return (
    <Dialog title={t('setLimits.title', { tube })}>
      <p>{t('setLimits.text', { limits: limits ? limitsText(limits) : t('setLimits.none') })}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('act.setLimits')}
        tone="main"
        disabled={!typed || !until()}
        work={() => tryAct('setLimits', { tube, ...typed, ...until() }, after)}
      >
        {LIMIT_NAMES.map((name) => (
          <label key={name}>
            <span>{t(`setLimits.${name}`)}</span>
            <input
              type="number"
              min={1}
              placeholder={t('setLimits.same')}
              value={fields[name]}
              onInput={({ currentTarget: { validity, value } }) =>
                setFields({ ...fields, [name]: validity.badInput ? 'bad' : value })
              }
            />
          </label>
        ))}
        <label>
          <span>{t('pause.end')}</span>
          <select value={end} onChange={({ currentTarget }) => setEnd(ENDS[currentTarget.selectedIndex]!)}>
            {ENDS.map((each) => (
              <option key={each} value={each}>
                {t(each === 'resumed' ? 'setLimits.reset' : `pause.${each}`)}
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
