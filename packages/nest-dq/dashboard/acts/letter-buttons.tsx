import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { askFirst, doAct } from './one.js';

/** Actions on a dead letter. */
export function LetterButtons({
  tube,
  id,
  name = id,
  after,
}: {
  readonly tube: string;
  readonly id: string;
  /** Its key. @default its id */
  readonly name?: string | undefined;
  readonly after: () => void;
}) {
  const discard = () =>
    askFirst('discard', t('discard.title', { job: name, tube }), t('discard.text'), t('act.discard'), () =>
      doAct('discard', { tube, id }, after),
    );
  return (
    <span class="acts">
      <ActButton
        act="revive"
        label={t('act.revive')}
        about={name}
        onClick={() => doAct('revive', { tube, id }, after)}
      />
      <ActButton act="discard" label={t('act.discard')} about={name} onClick={discard} />
    </span>
  );
}
