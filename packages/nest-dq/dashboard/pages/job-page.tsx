import type { ExplanationWire, JobRefWire } from '../../src/dashboard/wire.js';
import { dueOf } from '../../src/operate/due.js';
import { editPayload } from '../acts/edit-dialog.js';
import { HELD_CASES } from '../acts/held.js';
import { JobButtons } from '../acts/job-buttons.js';
import { LetterButtons } from '../acts/letter-buttons.js';
import { Amount } from '../parts/amount.js';
import { Badge } from '../parts/badge.js';
import { CopyButton } from '../parts/copy-button.js';
import { ErrorLine } from '../parts/error-line.js';
import { Facts } from '../parts/facts.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { jobSteps } from '../figures/job-steps.js';
import { attemptText, JobTimeline } from '../parts/job-timeline.js';
import { JsonView } from '../parts/json-view.js';
import { useLoad } from '../parts/load.js';
import { Payload } from '../parts/payload.js';
import { Help } from '../parts/problems.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { lastRead } from '../parts/last-read.js';
import { getData, inPath, RequestError } from '../server/requests.js';
import { jobIn, refOf } from '../state/job-address.js';
import { knownAt, live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { route } from '../state/router.js';
import { Stale } from '../parts/stale.js';
import { t } from '../words/language.js';
import { count, duration, fromNow, fullTime } from '../words/say.js';
import { whyText } from '../words/why.js';

/** How often the job is read, in ms: more often while its handler reports progress. */
const FRESH = 5_000;
const REPORTING = 2_000;
const SHOWN_OF_REF = 16;
const OVER: readonly (string | undefined)[] = ['done', 'revoked', 'expired'];

/** Everything that is known of one job. */
export function JobPage() {
  const job = jobIn(route.value.query);
  if (!job) return <p>{t('job.none')}</p>;
  return <Job key={JSON.stringify(job)} job={job} />;
}

function Job({ job }: { readonly job: JobRefWire }) {
  const about = `job ${JSON.stringify(job)}`;
  const last = lastRead(about)?.data as ExplanationWire | undefined;
  const turn = Math.floor(now.value / (last?.progress ? REPORTING : FRESH));
  const { data, error, again } = useLoad((signal) => explain(job, about, signal), [turn], about);
  if (!data) return error ? <Failure error={error} /> : <p class="faint">{t('loading')}</p>;
  const { state, deadLetter, attempt = 0, dueAt } = data;
  const isDead = deadLetter !== undefined;
  const isThere = data.because !== 'unknown' || dueAt !== undefined;
  const canMove = !isDead && state !== 'running' && !OVER.includes(state) && data.because !== 'unknown';
  const name = data.key ?? data.id;
  const named = 'id' in job ? refOf(data) : job;
  const edit = (payload: unknown) => editPayload(named, payload, again);
  // The job may be as it was before an outage.
  const readAt = error instanceof Stale ? error.asOf : knownAt.value;
  const isDue = state === 'waiting' && dueAt !== undefined && Date.parse(dueAt) < readAt;
  return (
    <>
      <div class="title">
        <h1 class="long">
          <bdi>{name}</bdi>
        </h1>
        <span class="faint long">{data.tube}</span>
        {state && <JobState state={isDue ? 'due' : state} />}
        {attempt > 0 && <Badge tone="calm">{attemptText(attempt, data)}</Badge>}
        {canMove && (
          <JobButtons job={named} tube={data.tube} name={name} held={heldReason(data)} after={again} />
        )}
        {isDead && <LetterButtons tube={data.tube} id={data.id} jobKey={data.key} after={again} />}
      </div>
      {error && <Failure error={error} />}
      <section class="card why" aria-label={t('job.why')}>
        <h2>{t(isThere ? `because.${data.because}` : 'because.nothing')}</h2>
        <p>{whyText(data)}</p>
        <NextStep data={data} after={again} />
      </section>
      {isThere && <Known data={data} readAt={readAt} job={job} edit={canMove || isDead ? edit : undefined} />}
    </>
  );
}

function heldReason({ because }: ExplanationWire): string | undefined {
  return HELD_CASES[because] && t('blocked.due', { reason: t(`because.${because}`) });
}

/** The act or page that helps a job that doesn't run. */
function NextStep({
  data: { because, tube },
  after,
}: {
  readonly data: ExplanationWire;
  readonly after: () => void;
}) {
  if (because === 'dead')
    return (
      <div class="bar">
        <a class="button" href={hashOf(['dead'], { tube })}>
          {t('help.letters')}
        </a>
      </div>
    );
  const code = because === 'nodes-away' ? because : HELD_CASES[because];
  if (code === undefined) return null;
  const view = live.value?.tubes?.tubes.find((each) => each.tube === tube);
  const { by } = live.value?.problems.tubes.find((each) => each.tube === tube && each.code === code) ?? {};
  return (
    <div class="bar">
      <Help code={code} tube={tube} due={view && dueOf(view)} after={after} />
      {by !== undefined && <span class="faint">{t('job.pausedBy', { by })}</span>}
    </div>
  );
}

/** Throws in an outage of the ledger if more was known before: that stays, with its age. */
async function explain(job: JobRefWire, about: string, signal: AbortSignal): Promise<ExplanationWire> {
  const told = await getData<ExplanationWire>('job', job, signal);
  const last = lastRead(about)?.data as ExplanationWire | undefined;
  if (told.because === 'ledger-away' && last && last.because !== 'ledger-away')
    throw new RequestError('DQ_LEDGER_DOWN', told.details.error);
  return told;
}

/** Facts about a job that is there, or was. For a key without one, even the id would be made up. */
function Known({
  data,
  readAt,
  job,
  edit,
}: {
  readonly data: ExplanationWire;
  /** In ms. */
  readonly readAt: number;
  readonly job: JobRefWire;
  readonly edit: ((payload: unknown) => void) | undefined;
}) {
  const { deadLetter, headers, priority, backoff, group, finished } = data;
  const hasCopy = data.copies.some(({ state }) => state !== 'missing');
  const isOver = OVER.includes(data.state) || data.because === 'done' || data.because === 'dead';
  const steps = jobSteps(data);
  return (
    <>
      <div class="columns">
        {steps.length > 0 && (
          <section class="card" aria-label={t('job.timeline')}>
            <h2>{t('job.timeline')}</h2>
            <JobTimeline job={data} at={readAt} steps={steps} />
          </section>
        )}
        <div class="rows">
          <section class="card" aria-label={t('job.record')}>
            <h2>{t('job.record')}</h2>
            <Facts
              facts={[
                [t('tube'), <a href={hashOf(['tubes', data.tube])}>{data.tube}</a>],
                [t('job.key'), data.key && <Copied text={data.key} what={t('job.key')} />],
                [t('job.id'), <Copied text={data.id} what={t('job.id')} />],
                [
                  t('job.ref'),
                  data.ref && <Copied text={data.ref} what={t('job.ref')} shown={SHOWN_OF_REF} />,
                ],
                [t('job.due'), data.dueAt && <DueTime at={data.dueAt} />],
                [t('job.expires'), data.expiresAt && <DueTime at={data.expiresAt} />],
                [t('finished.ended'), finished && <DueTime at={finished.endedAt} />],
                [t('job.backoff'), backoff && backoffText(backoff)],
                [t('job.group'), group && <code class="long">{group}</code>],
                [t('copy.priority'), priority && t(`priority.${priority}`)],
              ]}
            />
          </section>
          {data.run?.leaseEndsAt && <Run run={data.run} />}
        </div>
      </div>
      {deadLetter?.error && (
        <section class="card" aria-label={t('job.death')}>
          <h2>{t('job.death')}</h2>
          <ErrorLine error={deadLetter.error} />
        </section>
      )}
      {finished && <Result finished={finished} />}
      {headers && (
        <section class="card" aria-label={t('job.headers')}>
          <h2>{t('job.headers')}</h2>
          <JsonView value={headers} label={t('job.headers')} />
        </section>
      )}
      {hasCopy && (
        <section class="card" aria-label={t('payload')}>
          <h2>{t('payload')}</h2>
          {deadLetter ? (
            <Payload path={`tubes/${inPath(data.tube)}/dead/${inPath(data.id)}/payload`} edit={edit} />
          ) : (
            <Payload path="job/payload" query={job} edit={edit} />
          )}
        </section>
      )}
      {(data.copies.length > 0 || !isOver) && <Copies data={data} />}
    </>
  );
}

function Copies({ data }: { readonly data: ExplanationWire }) {
  return (
    <section class="card" aria-label={t('job.copies')}>
      <h2>{t('job.copies')}</h2>
      <Table
        label={t('job.copies')}
        rows={data.copies}
        keyOf={({ node, index }) => `${node} ${index}`}
        empty={t(data.because === 'ledger-away' ? 'job.copiesUnknown' : 'job.noCopies')}
        columns={[
          { head: t('node'), place: 'lead', cell: ({ node }) => <span class="long">{node}</span> },
          { head: t('copy.index'), number: true, cell: ({ index }) => <>{count(index)}</> },
          {
            head: t('state'),
            place: 'end',
            cell: ({ state: each }) => <Badge tone={toneOf(each)}>{t(`copy.${each}`)}</Badge>,
          },
          { head: t('copy.readyIn'), number: true, cell: ({ readyIn }) => duration(readyIn) },
          { head: t('copy.age'), number: true, cell: ({ age }) => duration(age) },
          { head: t('copy.reserves'), number: true, cell: ({ reserves }) => <Amount of={reserves} /> },
          { head: t('copy.releases'), number: true, cell: ({ releases }) => <Amount of={releases} /> },
          { head: t('copy.timeouts'), number: true, cell: ({ timeouts }) => <Amount of={timeouts} /> },
        ]}
      />
    </section>
  );
}

function Result({ finished }: { readonly finished: NonNullable<ExplanationWire['finished']> }) {
  const { result, resultLeftOut } = finished;
  if (result === undefined && resultLeftOut === undefined) return null;
  return (
    <section class="card" aria-label={t('finished.result')}>
      <h2>{t('finished.result')}</h2>
      {resultLeftOut === undefined ? (
        <JsonView value={result} label={t('finished.result')} />
      ) : (
        <p>{t(resultLeftOut === 'too long' ? 'finished.tooLong' : 'finished.notJson')}</p>
      )}
    </section>
  );
}

function Copied({
  text,
  what,
  shown = text.length,
}: {
  readonly text: string;
  readonly what: string;
  /** Number of characters shown. @default all */
  readonly shown?: number;
}) {
  return (
    <span class="copied">
      <bdi>
        <code class="long">{text.length > shown ? `${text.slice(0, shown)}…` : text}</code>
      </bdi>
      <CopyButton text={text} what={what} />
    </span>
  );
}

function backoffText({ type, delay, max, jitter }: NonNullable<ExplanationWire['backoff']>): string {
  const backoff = t(`backoff.${type}`, { delay: duration(delay), max: duration(max) });
  return jitter === 0 ? backoff : t('backoff.jitter', { backoff, percent: Math.round(jitter * 100) });
}

function DueTime({ at }: { readonly at: string }) {
  const ms = Date.parse(at);
  return (
    <>
      <time dateTime={at}>{fullTime(ms)}</time> <span class="faint">{fromNow(ms)}</span>
      <br />
      <span class="mono faint">{at}</span>
    </>
  );
}

function Run({ run }: { readonly run: NonNullable<ExplanationWire['run']> }) {
  const { process } = run;
  return (
    <section class="card" aria-label={t('job.run')}>
      <h2>{t('job.run')}</h2>
      <Facts
        facts={[
          [t('run.startedAt'), <Time at={run.startedAt} relative />],
          [t('run.leaseEndsAt'), run.leaseEndsAt && <Time at={run.leaseEndsAt} relative />],
          [t('run.process'), process && `${process.host}:${process.pid}`],
        ]}
      />
    </section>
  );
}

function toneOf(
  state: ExplanationWire['copies'][number]['state'],
): 'good' | 'bad' | 'warn' | 'calm' | 'accent' {
  if (state === 'missing' || state === 'buried') return 'bad';
  if (state === 'away' || state === 'unknown') return 'warn';
  return state === 'reserved' ? 'accent' : 'calm';
}
