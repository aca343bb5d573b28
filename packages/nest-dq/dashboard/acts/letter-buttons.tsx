import { refOf } from '../state/job-address.js';
import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { askFirst, askInProduction, doAct } from './one.js';

/** Actions on a dead letter. */
export function LetterButtons({
  tube,
  id,
  jobKey,
  after,
}: {
  readonly tube: string;
  readonly id: string;
  readonly jobKey: string | undefined;
  readonly after: () => void;
}) {
  const letter = refOf({ tube, id, key: jobKey });
  const name = jobKey ?? id;
  const discard = () =>
    askFirst('discard', t('discard.title', { job: name, tube }), t('discard.text'), t('act.discard'), () =>
      doAct('discard', letter, after),
    );
  const revive = () =>
    askInProduction('revive', t('revive.title', { job: name, tube }), t('revive.text'), t('act.revive'), () =>
      doAct('revive', letter, after),
    );
  return (
    <span class="acts">
      <ActButton act="revive" label={t('act.revive')} about={name} onClick={revive} />
      <ActButton act="discard" label={t('act.discard')} about={name} onClick={discard} />
    </span>
  );
}
