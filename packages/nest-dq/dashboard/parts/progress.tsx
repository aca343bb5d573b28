import type { ExplanationWire } from '../../src/dashboard/wire.js';
import { percentOf } from '../../src/operate/progress-text.js';
import { t } from '../words/language.js';
import { percent } from '../words/say.js';

/** How far a run is, as its handler reported it last. */
export function Progress({
  fraction,
  note,
}: Pick<NonNullable<ExplanationWire['progress']>, 'fraction' | 'note'>) {
  const share = percent(percentOf({ fraction }) / 100);
  const said = note === undefined ? share : `${share} ${note}`;
  return (
    <div class="progress">
      <progress aria-label={t('run.progress')} aria-valuetext={said} max={1} value={fraction} />
      <span class="small long">
        {share} {note !== undefined && <bdi>{note}</bdi>}
      </span>
    </div>
  );
}
