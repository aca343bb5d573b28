import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { askFirst, doAct } from './one.js';

/** What can be done to a dead letter. */
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
      {may('revive') && (
        <button
          class="button"
          aria-label={`${t('act.revive')} ${id}`}
          onClick={() => void doAct('revive', { tube, id }, after)}
        >
          {t('act.revive')}
        </button>
      )}
      {may('discard') && (
        <button class="button" aria-label={`${t('act.discard')} ${id}`} onClick={discard}>
          {t('act.discard')}
        </button>
      )}
    </span>
  );
}
