import type { JobRefWire } from '../../src/dashboard/wire.js';
import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { moveOne } from './move-dialog.js';
import { askFirst, doAct, runNow } from './one.js';

/** Actions on a waiting job. */
export function JobButtons({
  job,
  tube,
  name,
  held,
  after,
}: {
  readonly job: JobRefWire;
  readonly tube: string;
  /** Its key, or its id. */
  readonly name: string;
  /** Why it doesn't run although it's due, if so. */
  readonly held?: string | undefined;
  readonly after: () => void;
}) {
  const revoke = () =>
    askFirst('revoke', t('revoke.title', { job: name, tube }), t('revoke.text'), t('act.revoke'), () =>
      doAct('revoke', job, after),
    );
  return (
    <span class="acts">
      <ActButton
        act="runNow"
        label={t('act.runNow')}
        about={name}
        blocked={held}
        onClick={() => runNow(job, name, after)}
      />
      <ActButton
        act="reschedule"
        label={t('act.move')}
        about={name}
        onClick={() => moveOne(job, t('move.one', { job: name, tube }), after)}
      />
      <ActButton act="revoke" label={t('act.revoke')} about={name} onClick={revoke} />
    </span>
  );
}
