import { Choice } from '../parts/choice.js';
import { TubeSelect } from '../parts/tube-select.js';
import { go, route } from '../state/router.js';
import { t } from '../words/language.js';
import { HistoryCharts } from './history-charts.js';

const LENGTHS = {
  hour: 3_600_000,
  sixHours: 6 * 3_600_000,
  day: 86_400_000,
  twoDays: 2 * 86_400_000,
} as const;
const NAMES = ['hour', 'sixHours', 'day', 'twoDays'] as const;

/** History of the last two days. */
export function HistoryPage() {
  const { tube, span } = route.value.query;
  const name = NAMES.find((each) => each === span) ?? 'sixHours';
  return (
    <>
      <div class="title">
        <h1>{t('nav.history')}</h1>
        <Choice
          label={t('timeline.span')}
          value={name}
          options={NAMES.map((each) => ({ value: each, name: t(`history.span.${each}`) }))}
          onChange={(each) => go(['history'], { tube, span: each })}
        />
        <TubeSelect value={tube} all onChange={(each) => go(['history'], { tube: each, span: name })} />
      </div>
      <HistoryCharts tube={tube} length={LENGTHS[name]} />
    </>
  );
}
