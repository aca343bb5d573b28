import type { JobRefWire } from '../../src/dashboard/wire.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { moveOne } from './move-dialog.js';
import { askFirst, doAct } from './one.js';

/** What can be done to a job that waits. */
export function JobButtons({
  job,
  name,
  after,
}: {
  readonly job: JobRefWire;
  /** For screen readers, as there are many such buttons. */
  readonly name: string;
  readonly after: () => void;
}) {
  const revoke = () =>
    askFirst(t('revoke.title'), t('revoke.text'), t('act.revoke'), () => void doAct('revoke', job, after));
  return (
    <span class="acts">
      {may('runNow') && (
        <button
          class="button"
          aria-label={`${t('act.runNow')} ${name}`}
          onClick={() => void doAct('runNow', job, after)}
        >
          {t('act.runNow')}
        </button>
      )}
      {may('reschedule') && (
        <button class="button" aria-label={`${t('act.move')} ${name}`} onClick={() => moveOne(job, after)}>
          {t('act.move')}
        </button>
      )}
      {may('revoke') && (
        <button class="button" aria-label={`${t('act.revoke')} ${name}`} onClick={revoke}>
          {t('act.revoke')}
        </button>
      )}
    </span>
  );
}
