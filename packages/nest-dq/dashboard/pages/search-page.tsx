import { useEffect } from 'preact/hooks';
import type { SearchWire } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { useLoad } from '../parts/load.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { getData } from '../server/requests.js';
import { refOf } from '../state/job-address.js';
import { hashOf } from '../state/route.js';
import { goOnFrom, route } from '../state/router.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

/** Finds a job by what a person has of it. */
export function SearchPage() {
  const text = route.value.query['q'] ?? '';
  const { data, error } = useLoad(
    async (signal) => (text === '' ? undefined : getData<SearchWire>('search', { text }, signal)),
    [text],
    `search ${text}`,
  );
  const job = data && onlyJob(data);
  const address = job && JSON.stringify(job);
  useEffect(() => {
    // In place of this page: the way back leads to where the search began.
    if (job) goOnFrom('search', ['job'], job);
  }, [address]);
  return (
    <>
      <h1 class="long">{t('search.title', { text: text.slice(0, 100) })}</h1>
      {error && <Failure error={error} />}
      {!error && !data && text !== '' && <p class="faint">{t('loading')}</p>}
      {!error && data && 'jobs' in data && <Found found={data} />}
    </>
  );
}

/** The job, if the text can only mean this one. */
function onlyJob(found: SearchWire): Record<string, string> | undefined {
  if ('ref' in found) return { ref: found.ref };
  const { jobs, searched, tubes, more, away } = found;
  const [job, other] = jobs;
  if (!job || other || searched < tubes || more || away.length > 0) return undefined;
  return refOf(job);
}

function Found({
  found: { jobs, searched, tubes, more, away },
}: {
  readonly found: Extract<SearchWire, { jobs: unknown }>;
}) {
  return (
    <>
      <p class="faint" role="status">
        {t('search.searched', { searched: count(searched), tubes: count(tubes) })} {more && t('tubes.more')}
      </p>
      {away.length > 0 && <p class="card warn">{t('search.away', { nodes: away.join(', ') })}</p>}
      <Table
        label={t('search.found')}
        rows={jobs}
        keyOf={({ tube, id }) => `${tube} ${id}`}
        empty={t('search.none')}
        columns={[
          { head: t('tube'), cell: ({ tube }) => <span class="long">{tube}</span> },
          {
            head: t('job.id'),
            place: 'lead',
            cell: ({ tube, id, key }) => (
              <a class="long" href={hashOf(['job'], refOf({ tube, id, key }))}>
                {key ?? id}
              </a>
            ),
          },
          { head: t('state'), place: 'end', cell: ({ state }) => <JobState state={state} /> },
          { head: t('job.due'), place: 'named', cell: ({ dueAt }) => dueAt && <Time at={dueAt} relative /> },
          {
            head: t('finished.ended'),
            place: 'named',
            cell: ({ endedAt }) => endedAt && <Time at={endedAt} relative />,
          },
        ]}
      />
      <p class="faint small">{t('search.about')}</p>
    </>
  );
}
