import type { TubeWire } from '../../src/dashboard/wire.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { askFirst, doAct } from './one.js';

/** Pauses and resumes a tube. The next live state shows it. */
export function TubeButtons({
  tube: { tube, paused },
  after = () => undefined,
}: {
  readonly tube: Pick<TubeWire, 'tube' | 'paused'>;
  readonly after?: () => void;
}) {
  if (paused) {
    if (!may('resume')) return null;
    return (
      <button
        class="button"
        aria-label={`${t('act.resume')} ${tube}`}
        onClick={() => void doAct('resume', { tube }, after)}
      >
        {t('act.resume')}
      </button>
    );
  }
  if (!may('pause')) return null;
  const pause = () =>
    askFirst(
      t('pause.title', { tube }),
      t('pause.text'),
      t('act.pause'),
      () => void doAct('pause', { tube }, after),
    );
  return (
    <button class="button" aria-label={`${t('act.pause')} ${tube}`} onClick={pause}>
      {t('act.pause')}
    </button>
  );
}
