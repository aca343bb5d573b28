import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { askFirst, doAct } from './one.js';

/** Actions on a dead letter. */
export function LetterButtons({
  tube,
  id,
  after,
}: {
  readonly tube: string;
  readonly id: string;
  readonly after: () => void;
}) {
  const discard = () =>
    askFirst(
      t('discard.title'),
      t('discard.text'),
      t('act.discard'),
      () => void doAct('discard', { tube, id }, after),
    );
  return (
    <span class="acts">
      <ActButton
        act="revive"
        label={t('act.revive')}
        about={id}
        onClick={() => void doAct('revive', { tube, id }, after)}
      />
      <ActButton act="discard" label={t('act.discard')} about={id} onClick={discard} />
    </span>
  );
}
