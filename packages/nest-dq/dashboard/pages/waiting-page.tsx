import { useState } from 'preact/hooks';
import type { JobPageWire, JobSummaryWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { bulkFilterOf } from '../acts/filters.js';
import { heldText } from '../acts/held.js';
import { JobButtons } from '../acts/job-buttons.js';
import { actOnEach } from '../acts/each.js';
import { moveChosen, moveMany } from '../acts/move-dialog.js';
import { askFirst } from '../acts/one.js';
import { Amount } from '../parts/amount.js';
import { Badge } from '../parts/badge.js';
import { Choice } from '../parts/choice.js';
import { useChoosing } from '../parts/choosing.js';
import { CopyButton } from '../parts/copy-button.js';
import { ErrorButton } from '../parts/error-button.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { Refresh, useLiveList } from '../parts/live-list.js';
import { More } from '../parts/more.js';
import type { Paged } from '../parts/pages.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { TimeFields } from '../parts/time-fields.js';
import { TubeSelect } from '../parts/tube-select.js';
import { TypedFilter } from '../parts/typed-filter.js';
import { UnseenTube } from '../parts/unknown-tube.js';
import { act, getData, inPath } from '../server/requests.js';
import { useKept } from '../state/kept.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { go, goOnFrom, route } from '../state/router.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

const BY_DUE = {
  idOf: ({ id }: JobSummaryWire) => id,
  orderOf: ({ dueAt }: JobSummaryWire) => Date.parse(dueAt),
};
const nameOf = ({ id, key }: JobSummaryWire) => key ?? id;
const STATES = ['all', 'waiting', 'due', 'retrying'] as const;

/** The jobs that wait, of one tube or of all, the first due first. */
export function WaitingPage() {
  const { query } = route.value;
  const { tube, state, key, from, to } = query;
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['waiting'], { tube, state, key, from, to, ...changed });
  return (
    <>
      <div class="title">
        <h1>{t('nav.waiting')}</h1>
        <TubeSelect all value={tube} onChange={(each) => show({ tube: each })} />
        <Choice
          label={t('state')}
          value={STATES.find((each) => each === state) ?? 'all'}
          options={STATES.map((each) => ({
            value: each,
            name: t(each === 'all' ? 'state.all' : `state.${each}`),
          }))}
          onChange={(each) => show({ state: each === 'all' ? undefined : each })}
        />
        <TypedFilter
          label={t('waiting.key')}
          value={key}
          onChange={(typed) => goOnFrom('waiting', ['waiting'], { tube, state, key: typed, from, to })}
        />
        <TimeFields direction="next" from={from} to={to} onChange={show} />
      </div>
      <Jobs
        key={JSON.stringify([tube, state, key, from, to])}
        tube={tube}
        prefix={key}
        shown={{ state, from, to }}
      />
    </>
  );
}

function Jobs({
  tube,
  prefix,
  shown,
}: {
  readonly tube: string | undefined;
  /** Start of the key or the id. */
  readonly prefix: string | undefined;
  readonly shown: {
    readonly state?: string | undefined;
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  };
}) {
  const [counted, setCounted] = useState<Pick<JobPageWire, 'listed' | 'about'>>();
  const list = useLiveList<JobSummaryWire>(
    async (query, signal) => {
      const path = tube === undefined ? 'jobs' : `tubes/${inPath(tube)}/jobs`;
      const { jobs, ...rest } = await getData<JobPageWire>(path, { ...shown, prefix, ...query }, signal);
      if (!signal.aborted) setCounted(rest);
      return { items: jobs, cursor: rest.cursor, looked: rest.looked };
    },
    [],
    BY_DUE,
    (job, present) => ({ ...job, error: undefined, ...present }),
  );
  const filter = () => bulkFilterOf(shown, new Date(now.peek()).toISOString());
  const canAct = may('runNow') || may('reschedule') || may('revoke');
  const present = list.items.filter((job) => !list.isGone(job));
  const [open, setOpen] = useKept<string | undefined>('open', undefined);
  const choosing = useChoosing(present, BY_DUE.idOf, nameOf);
  const chosen = choosing.chosen.map(({ ref }) => ({ ref }));
  const what = { tube: tubesText(choosing.chosen), jobs: count(chosen.length) };
  const tubes = tube === undefined ? tubesWithJobs(list.items) : [tube];
  const { looked = 0 } = list;
  const again = () => {
    choosing.clear();
    list.again();
  };
  const each = (name: 'runNow' | 'revoke') => actOnEach(chosen, (job) => act(name, job), again);
  return (
    <>
      {list.error && <Failure error={list.error} />}
      {list.items.length === 0 && <UnseenTube tube={tube} page="waiting" />}
      <div class="bar">
        <Refresh list={list} />
        {counted && (
          <span class="faint">
            {counted.about === undefined || counted.about <= counted.listed
              ? t('waiting.listed', { listed: count(counted.listed) })
              : t('waiting.listedOf', { listed: count(counted.listed), about: count(counted.about) })}
          </span>
        )}
        {chosen.length > 0 && (
          <>
            <span>{t('rows.chosen', { rows: count(chosen.length) })}</span>
            <ActButton act="runNow" label={t('act.runNow')} onClick={() => each('runNow')} />
            <ActButton
              act="reschedule"
              label={t('act.move')}
              onClick={() => moveChosen(chosen, t('move.some', what), again)}
            />
            <ActButton
              act="revoke"
              label={t('act.revoke')}
              onClick={() =>
                askFirst('revoke', t('revoke.some', what), t('revoke.each'), t('act.revoke'), () =>
                  each('revoke'),
                )
              }
            />
          </>
        )}
        {list.items.length > 0 && prefix !== undefined && (
          <span class="faint small">{t('waiting.selectOnly')}</span>
        )}
        {list.items.length > 0 && prefix === undefined && (
          <>
            <ActButton
              act="rescheduleMany"
              label={t('act.rescheduleMany')}
              onClick={() => moveMany(tubes, filter(), list.again)}
            />
            <ActButton
              act="revokeMany"
              label={t('act.revokeMany')}
              onClick={() =>
                askBulk(
                  tubes.map((each) => ({ name: 'revokeMany', body: { tube: each, filter: filter() } })),
                  list.again,
                )
              }
            />
          </>
        )}
      </div>
      <Table
        label={t('nav.waiting')}
        rows={list.items}
        keyOf={({ id }) => id}
        classOf={(job) => (list.isGone(job) ? 'gone' : undefined)}
        empty={list.error ? '' : emptyText(list)}
        below={({ id, error }) => (error && id === open ? <ErrorText error={error} /> : undefined)}
        columns={[
          ...(canAct ? [choosing.column] : []),
          { head: t('job.due'), place: 'end', cell: ({ dueAt }) => <Time at={dueAt} relative /> },
          ...(tube === undefined
            ? [{ head: t('tube'), cell: (job: JobSummaryWire) => <span class="long">{job.tube}</span> }]
            : []),
          {
            head: t('job.keyOrId'),
            place: 'lead',
            cell: (job) => (
              <a class="mono long" href={hashOf(['job'], { ref: job.ref })}>
                {nameOf(job)}
              </a>
            ),
          },
          {
            head: t('state'),
            cell: (job) =>
              list.isGone(job) ? (
                <Badge tone="calm">{t('waiting.left')}</Badge>
              ) : (
                <JobState state={job.state} />
              ),
          },
          { head: t('job.attempt'), number: true, cell: ({ attempt }) => <Amount of={attempt} /> },
          ...(list.items.some(({ error }) => error)
            ? [
                {
                  head: t('waiting.error'),
                  cell: ({ id, error }: JobSummaryWire) =>
                    error && (
                      <ErrorButton
                        error={error}
                        isOpen={id === open}
                        onClick={() => setOpen(id === open ? undefined : id)}
                      />
                    ),
                },
              ]
            : []),
          ...(canAct
            ? [
                {
                  head: t('acts'),
                  quiet: true,
                  cell: (job: JobSummaryWire) =>
                    !list.isGone(job) && (
                      <JobButtons
                        job={{ ref: job.ref }}
                        tube={job.tube}
                        name={nameOf(job)}
                        held={Date.parse(job.dueAt) < now.value ? heldText(job.tube) : undefined}
                        after={list.again}
                      />
                    ),
                },
              ]
            : []),
        ]}
      />
      {prefix !== undefined && list.more && !list.loading && counted && (
        <p class="faint small">
          {t('waiting.looked', { looked: count(looked), listed: count(counted.listed) })}
        </p>
      )}
      <More list={list} />
    </>
  );
}

function ErrorText({ error: { name, message } }: { readonly error: NonNullable<JobSummaryWire['error']> }) {
  const text = `${name}: ${message}`;
  return (
    <div class="stack">
      <pre class="code" tabIndex={0} aria-label={t('waiting.error')}>
        {text}
      </pre>
      <CopyButton text={text} what={t('dead.error')} />
    </div>
  );
}

function emptyText({ loading, more, looked }: Paged<unknown>): string {
  if (loading) return t('loading');
  return more ? t('waiting.noneYet', { looked: count(looked) }) : t('waiting.none');
}

/** The tube of chosen jobs, or how many there are. */
function tubesText(jobs: readonly JobSummaryWire[]): string {
  const tubes = [...new Set(jobs.map(({ tube }) => tube))];
  return tubes.length === 1 ? tubes[0]! : t('palette.allTubes', { tubes: count(tubes.length) });
}

/** All tubes that have waiting jobs. */
function tubesWithJobs(jobs: readonly JobSummaryWire[]): readonly string[] {
  const known = (live.peek()?.tubes?.tubes ?? []).filter(
    ({ waiting = 0, due = 0, listed = 0 }) => Math.max(waiting + due, listed) > 0,
  );
  return [...new Set([...known, ...jobs].map(({ tube }) => tube))];
}
