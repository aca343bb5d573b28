import type { TubeWire } from '../../src/dashboard/wire.js';
import { isUnknownTube } from '../figures/unknown-tube.js';
import { t } from '../words/language.js';
import { ActButton } from './act-button.js';
import { askPause } from './pause-dialog.js';
import { resume } from './resume.js';

/** Pauses and resumes a tube. The next live state shows it. */
export function TubeButtons({
  tube: view,
  after = () => undefined,
}: {
  readonly tube: TubeWire;
  readonly after?: () => void;
}) {
  const { tube, paused, dead, due, overdue = due } = view;
  // Without the ledger's first answer it is unknown whether the tube is paused.
  if (!paused && dead === undefined) return null;
  return paused ? (
    <ActButton
      act="resume"
      label={t('act.resume')}
      about={tube}
      onClick={() => resume(tube, overdue, after)}
    />
  ) : (
    <ActButton
      act="pause"
      label={t('act.pause')}
      about={tube}
      onClick={() => askPause(tube, after, isUnknownTube(view))}
    />
  );
}
