import { shownDialog } from '../state/dialog.js';
import { interrupted, noteInterrupted } from '../state/interrupted.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { ActButton } from './act-button.js';
import { askBulk } from './bulk-dialog.js';
import { wordOf } from './titles.js';

/** A notice of an interrupted bulk act, with a button to continue it. */
export function InterruptedBar() {
  const act = interrupted.value;
  if (!act || shownDialog.value || !may(act.bulk.name)) return null;
  const { bulk, rest, done, cursor } = act;
  const { body } = bulk;
  const tube = 'tube' in body ? body.tube : undefined;
  const scope = [tube, 'node' in body ? body.node : undefined].filter((each) => each !== undefined);
  const name = `${t(`act.${wordOf(bulk)}`)}${scope.length > 0 ? ` (${scope.join(', ')})` : ''}`;
  return (
    <section class="card warn" aria-label={t('bulk.interrupted')}>
      <div class="bar">
        <span>{t('bulk.interruptedAt', { act: name, done: count(done) })}</span>
        <ActButton
          act={bulk.name}
          label={t('bulk.goOn')}
          onClick={() => askBulk([bulk, ...rest], () => undefined, { cursor, done })}
        />
        <button class="button" onClick={() => noteInterrupted(undefined)}>
          {t('bulk.forget')}
        </button>
      </div>
    </section>
  );
}
