import { t } from '../words/language.js';
import { PlannedSeriesList, SeriesList } from './series-list.js';

/** The recurring jobs of all processes, and those made at run time. */
export function SeriesPage() {
  return (
    <>
      <h1>{t('series')}</h1>
      <SeriesList />
      <PlannedSeriesList />
    </>
  );
}
