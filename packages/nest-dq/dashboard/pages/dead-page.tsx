import type { LetterFilterWire } from '../../src/dashboard/wire.js';
import { Choice } from '../parts/choice.js';
import { TimeFields } from '../parts/time-fields.js';
import { TubeSelect } from '../parts/tube-select.js';
import { TypedFilter } from '../parts/typed-filter.js';
import { hashOf } from '../state/route.js';
import { go, goOnFrom, route } from '../state/router.js';
import { t } from '../words/language.js';
import { DeadGroups } from './dead-groups.js';
import { Letters } from './letters.js';

const WHYS = ['attempts', 'discarded', 'invalid', 'stale', 'expired'] as const;
const VIEWS = ['groups', 'letters'] as const;

/** Jobs that do not run again unless somebody revives them: by error, or one by one. */
export function DeadPage() {
  const { query } = route.value;
  const { tube, error, group, from, to } = query;
  const why = WHYS.find((each) => each === query['why']);
  // A link to the letters of a tube, or to some of them, leads to these.
  const first = Object.keys(query).length > 0 ? 'letters' : 'groups';
  const view = VIEWS.find((each) => each === query['view']) ?? first;
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['dead'], { view, tube, why, error, group, from, to, ...changed });
  const filter: LetterFilterWire = {
    ...(why && { why }),
    ...(error && { error }),
    ...(from && { diedFrom: from }),
    ...(to && { diedTo: to }),
  };
  const inGroup = { ...filter, ...(group && { group }) };
  const key = JSON.stringify({ view, tube, filter, group });
  return (
    <>
      <div class="title">
        <h1>{t('nav.dead')}</h1>
        <Choice
          label={t('dead.view')}
          value={view}
          options={VIEWS.map((value) => ({ value, name: t(`dead.${value}`) }))}
          onChange={(each) => show({ view: each, group: undefined })}
        />
        <TubeSelect all value={tube} onChange={(each) => show({ tube: each })} />
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
        <TypedFilter
          label={t('dead.errorText')}
          value={error}
          onChange={(typed) => goOnFrom('dead', ['dead'], { view, tube, why, error: typed, group, from, to })}
        />
        <TimeFields direction="last" from={from} to={to} onChange={show} />
      </div>
      {view === 'letters' && group && (
        <p class="chip">
          <span class="long">{t('dead.group', { group })}</span>
          <a
            class="button"
            aria-label={t('dead.anyError')}
            title={t('dead.anyError')}
            href={hashOf(['dead'], { ...query, view, group: undefined })}
          >
            ✕
          </a>
        </p>
      )}
      {view === 'groups' ? (
        <DeadGroups key={key} tube={tube} filter={filter} query={{ ...query, view: 'letters' }} />
      ) : (
        <Letters key={key} tube={tube} filter={inGroup} />
      )}
    </>
  );
}
