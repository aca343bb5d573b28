import { useState } from 'preact/hooks';
import type { TubeWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { showDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { limitsText } from '../words/limits.js';
import { ActButton } from './act-button.js';
import { ConfirmForm, useConfirming } from './confirming.js';
import { areWrong, LIMIT_NAMES, NO_LIMITS, typedLimits } from './limit-fields.js';
import { doAct, tryAct } from './one.js';
import type { PauseEnd } from './pause-end.js';
import { UntilFields, useUntil } from './until-fields.js';

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
  const choice = useUntil('hour');
  const confirming = useConfirming('setLimits');
  const typed = typedLimits(fields);
  return (
    <Dialog title={t('setLimits.title', { tube })}>
      <p>{t('setLimits.text', { limits: limits ? limitsText(limits) : t('setLimits.none') })}</p>
      <ConfirmForm
        confirming={confirming}
        label={t('act.setLimits')}
        disabled={!typed || !choice.until()}
        work={() => tryAct('setLimits', { tube, ...typed, ...choice.until() }, after)}
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
        <p class="hint" role="status">
          {areWrong(fields) && t('setLimits.wrong')}
        </p>
        <UntilFields choice={choice} ends={ENDS} resumed={t('setLimits.reset')} />
      </ConfirmForm>
    </Dialog>
  );
}
