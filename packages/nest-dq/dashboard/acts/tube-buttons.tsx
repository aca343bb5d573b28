import type { TubeWire } from '../../src/dashboard/wire.js';
import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { doAct } from './one.js';
import { askPause } from './pause-dialog.js';

/** Pauses and resumes a tube. The next live state shows it. */
export function TubeButtons({
  tube: { tube, paused, dead },
  after = () => undefined,
}: {
  readonly tube: Pick<TubeWire, 'tube' | 'paused' | 'dead'>;
  readonly after?: () => void;
}) {
  // Without the ledger's first answer it is unknown whether the tube is paused.
  if (!paused && dead === undefined) return null;
  const resume = () => doAct('resume', { tube }, after);
  return paused ? (
    <ActButton act="resume" label={t('act.resume')} about={tube} onClick={resume} />
  ) : (
    <ActButton act="pause" label={t('act.pause')} about={tube} onClick={() => askPause(tube, after)} />
  );
}
