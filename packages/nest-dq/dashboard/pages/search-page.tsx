import { useEffect, useState } from 'preact/hooks';
import type { ExplanationWire, JobRefWire, TubeListWire } from '../../src/dashboard/wire.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { Table } from '../parts/table.js';
import { getData, RequestError } from '../server/requests.js';
import { refIn } from '../state/job-address.js';
import { hashOf } from '../state/route.js';
import { goOnFrom, route } from '../state/router.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';
import { whyText } from '../words/why.js';

interface Found {
  readonly job: { readonly tube: string } & JobRefWire;
  readonly told: ExplanationWire;
}

/** Each asks servers for up to some seconds. */
const AT_ONCE = 4;
const MOST_TUBES = 100;

/** Finds a job by what a person has of it. */
export function SearchPage() {
  const text = route.value.query['q'] ?? '';
  const ref = refIn(text);
  useEffect(() => {
    // In place of this page: the way back leads to where the search began.
    if (ref !== undefined) goOnFrom('search', ['job'], { ref });
  }, [ref]);
  return (
    <>
      <h1 class="long">{t('search.title', { text: text.slice(0, 100) })}</h1>
      {ref === undefined && <InTubes key={text} text={text} />}
    </>
  );
}

/** An id and a key need their tube, so each tube is asked for both. */
function InTubes({ text }: { readonly text: string }) {
  const [found, setFound] = useState<readonly Found[]>([]);
  const [asked, setAsked] = useState<{ readonly done: number; readonly of: number }>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const stop = new AbortController();
    search(text, stop.signal, setAsked, (each) => setFound((others) => [...others, each])).catch(
      (caught: Error) => !stop.signal.aborted && setError(caught),
    );
    return () => stop.abort();
  }, []);
  const isOver = asked !== undefined && asked.done >= asked.of;
  return (
    <>
      {error && <Failure error={error} />}
      {!error && (
        <p class="faint" role="status">
          {asked
            ? t(isOver ? 'search.over' : 'search.asked', { done: count(asked.done), of: count(asked.of) })
            : t('loading')}
        </p>
      )}
      <Table
        label={t('search.found')}
        rows={found}
        keyOf={({ job }) => JSON.stringify(job)}
        empty={isOver ? t('search.none') : ''}
        columns={[
          { head: t('tube'), cell: ({ told }) => told.tube },
          {
            head: t('job.id'),
            cell: ({ job, told }) => (
              <a class="long" href={hashOf(['job'], job)}>
                {told.key ?? told.id}
              </a>
            ),
          },
          { head: t('state'), cell: ({ told }) => told.state && <JobState state={told.state} /> },
          { head: t('job.why'), cell: ({ told }) => whyText(told) },
        ]}
      />
    </>
  );
}

async function search(
  text: string,
  signal: AbortSignal,
  tell: (asked: { done: number; of: number }) => void,
  onFound: (found: Found) => void,
): Promise<void> {
  const { tubes } = await getData<TubeListWire>('tubes', {}, signal);
  const jobs = tubes
    .slice(0, MOST_TUBES)
    .flatMap(({ tube }) => [{ tube, key: text } as const, { tube, id: text } as const]);
  let done = 0;
  const rest = [...jobs];
  const ask = async (): Promise<void> => {
    for (let job = rest.shift(); job; job = rest.shift()) {
      const told = await explanationOf(job, signal);
      if (told) onFound({ job, told });
      tell({ done: ++done, of: jobs.length });
    }
  };
  tell({ done, of: jobs.length });
  await Promise.all(Array.from({ length: AT_ONCE }, ask));
}

/** Undefined: the tube has no such job, or the text cannot be one's name. */
async function explanationOf(job: JobRefWire, signal: AbortSignal): Promise<ExplanationWire | undefined> {
  try {
    const told = await getData<ExplanationWire>('job', job, signal);
    return told.because === 'unknown' ? undefined : told;
  } catch (error) {
    if (error instanceof RequestError && (error.code === 'DQ_BAD_REF' || error.code === 'NOT_FOUND'))
      return undefined;
    throw error;
  }
}
