import { HistorySpan, historySpan } from '../parts/history-span.js';
import { TubeSelect } from '../parts/tube-select.js';
import { go, route } from '../state/router.js';
import { t } from '../words/language.js';
import { HistoryCharts } from './history-charts.js';

/** History of the last two days. */
export function HistoryPage() {
  const { tube, span } = route.value.query;
  const { name, length } = historySpan(span);
  return (
    <>
      <div class="title">
        <h1>{t('nav.history')}</h1>
        <HistorySpan value={name} onChange={(each) => go(['history'], { tube, span: each })} />
        <TubeSelect value={tube} all onChange={(each) => go(['history'], { tube: each, span: name })} />
      </div>
      <HistoryCharts tube={tube} length={length} />
    </>
  );
}
