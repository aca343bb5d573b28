import type { JobRefWire } from '../../src/dashboard/wire.js';
import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { moveOne } from './move-dialog.js';
import { askFirst, doAct } from './one.js';

/** Actions on a waiting job. */
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
      <ActButton
        act="runNow"
        label={t('act.runNow')}
        about={name}
        onClick={() => void doAct('runNow', job, after)}
      />
      <ActButton act="reschedule" label={t('act.move')} about={name} onClick={() => moveOne(job, after)} />
      <ActButton act="revoke" label={t('act.revoke')} about={name} onClick={revoke} />
    </span>
  );
}
