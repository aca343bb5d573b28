import type { LetterFilterWire } from '../../src/dashboard/wire.js';
import { TimeFields } from '../parts/time-fields.js';
import { TubeSelect } from '../parts/tube-select.js';
import { useTypedText } from '../parts/typed-text.js';
import { useFirstTube } from '../state/first-tube.js';
import { live } from '../state/live.js';
import { go, route } from '../state/router.js';
import { t } from '../words/language.js';
import { Letters } from './letters.js';

const WHYS = ['attempts', 'discarded', 'invalid', 'stale'] as const;

/** Jobs that do not run again unless somebody revives them. */
export function DeadPage() {
  const { query } = route.value;
  const tube = useFirstTube('dead', ({ dead }) => dead);
  const { error, from, to } = query;
  const errorInput = useTypedText(error ?? '');
  const why = WHYS.find((each) => each === query['why']);
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['dead'], { tube, why, error, from, to, ...changed });
  const filter: LetterFilterWire = {
    ...(why && { why }),
    ...(error && { error }),
    ...(from && { diedFrom: from }),
    ...(to && { diedTo: to }),
  };
  return (
    <>
      <div class="title">
        <h1>{t('nav.dead')}</h1>
        <TubeSelect value={tube} onChange={(each) => show({ tube: each })} />
        <label class="field">
          <span class="unseen">{t('dead.why')}</span>
          <select
            value={why ?? ''}
            onChange={({ currentTarget }) => show({ why: currentTarget.value || undefined })}
          >
            <option value="">{t('dead.anyWhy')}</option>
            {WHYS.map((each) => (
              <option key={each} value={each}>
                {t(`died.${each}`)}
              </option>
            ))}
          </select>
        </label>
        <input
          ref={errorInput}
          type="search"
          aria-label={t('dead.errorText')}
          placeholder={t('dead.errorText')}
          onChange={({ currentTarget }) => show({ error: currentTarget.value || undefined })}
        />
        <TimeFields from={from} to={to} onChange={show} />
      </div>
      {tube === undefined ? (
        <p class="empty">{t(live.value ? 'tubes.none' : 'loading')}</p>
      ) : (
        <Letters key={tube} tube={tube} filter={filter} />
      )}
    </>
  );
}
