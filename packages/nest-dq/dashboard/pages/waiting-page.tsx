import { useState } from 'preact/hooks';
import type { JobPageWire, JobSummaryWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { bulkFilterOf } from '../acts/filters.js';
import { JobButtons } from '../acts/job-buttons.js';
import { actOnEach } from '../acts/each.js';
import { moveChosen, moveMany } from '../acts/move-dialog.js';
import { askFirst } from '../acts/one.js';
import { Amount } from '../parts/amount.js';
import { Badge } from '../parts/badge.js';
import { Choice } from '../parts/choice.js';
import { useChoosing } from '../parts/choosing.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { Refresh, useLiveList } from '../parts/live-list.js';
import { More } from '../parts/more.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { TimeFields } from '../parts/time-fields.js';
import { TubeSelect } from '../parts/tube-select.js';
import { act, getData, inPath } from '../server/requests.js';
import { useFirstTube } from '../state/first-tube.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { go, route } from '../state/router.js';
import { may } from '../state/session.js';
import { t } from '../words/language.js';
import { count } from '../words/say.js';

const BY_DUE = {
  idOf: ({ id }: JobSummaryWire) => id,
  orderOf: ({ dueAt }: JobSummaryWire) => Date.parse(dueAt),
};
const nameOf = ({ id, key }: JobSummaryWire) => key ?? id;
const STATES = ['all', 'waiting', 'due', 'retrying'] as const;

/** The jobs of a tube that wait, the first due first. */
export function WaitingPage() {
  const { query } = route.value;
  const tube = useFirstTube('waiting', ({ waiting }) => waiting);
  const { state, from, to } = query;
  const show = (changed: Readonly<Record<string, string | undefined>>) =>
    go(['waiting'], { tube, state, from, to, ...changed });
  return (
    <>
      <div class="title">
        <h1>{t('nav.waiting')}</h1>
        <TubeSelect value={tube} onChange={(each) => show({ tube: each })} />
        <Choice
          label={t('state')}
          value={STATES.find((each) => each === state) ?? 'all'}
          options={STATES.map((each) => ({
            value: each,
            name: t(each === 'all' ? 'state.all' : `state.${each}`),
          }))}
          onChange={(each) => show({ state: each === 'all' ? undefined : each })}
        />
        <TimeFields direction="next" from={from} to={to} onChange={show} />
      </div>
      {tube === undefined ? (
        <p class="empty">{t(live.value ? 'tubes.none' : 'loading')}</p>
      ) : (
        <Jobs key={JSON.stringify([tube, state, from, to])} tube={tube} shown={{ state, from, to }} />
      )}
    </>
  );
}

function Jobs({
  tube,
  shown,
}: {
  readonly tube: string;
  readonly shown: {
    readonly state?: string | undefined;
    readonly from?: string | undefined;
    readonly to?: string | undefined;
  };
}) {
  const [counted, setCounted] = useState<Pick<JobPageWire, 'listed' | 'about'>>();
  const list = useLiveList<JobSummaryWire>(
    async (query, signal) => {
      const path = `tubes/${inPath(tube)}/jobs`;
      const { jobs, ...rest } = await getData<JobPageWire>(path, { ...shown, ...query }, signal);
      if (!signal.aborted) setCounted(rest);
      return { items: jobs, cursor: rest.cursor };
    },
    [],
    BY_DUE,
    (job, present) => ({ ...job, ...present }),
  );
  const filter = () => bulkFilterOf(shown, new Date(now.peek()).toISOString());
  const canAct = may('runNow') || may('reschedule') || may('revoke');
  const present = list.items.filter((job) => !list.isGone(job));
  const choosing = useChoosing(present, BY_DUE.idOf, nameOf);
  const chosen = choosing.chosen.map(({ ref }) => ({ ref }));
  const what = { tube, jobs: count(chosen.length) };
  const again = () => {
    choosing.clear();
    list.again();
  };
  const each = (name: 'runNow' | 'revoke') => actOnEach(chosen, (job) => act(name, job), again);
  return (
    <>
      {list.error && <Failure error={list.error} />}
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
        {list.items.length > 0 && (
          <>
            <ActButton
              act="rescheduleMany"
              label={t('act.rescheduleMany')}
              onClick={() => moveMany(tube, filter(), list.again)}
            />
            <ActButton
              act="revokeMany"
              label={t('act.revokeMany')}
              onClick={() => askBulk([{ name: 'revokeMany', body: { tube, filter: filter() } }], list.again)}
            />
          </>
        )}
      </div>
      <Table
        label={t('nav.waiting')}
        rows={list.items}
        keyOf={({ id }) => id}
        classOf={(job) => (list.isGone(job) ? 'gone' : undefined)}
        empty={list.error ? '' : t(list.loading ? 'loading' : 'waiting.none')}
        columns={[
          ...(canAct ? [choosing.column] : []),
          { head: t('job.due'), place: 'end', cell: ({ dueAt }) => <Time at={dueAt} relative /> },
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
          ...(canAct
            ? [
                {
                  head: t('acts'),
                  quiet: true,
                  cell: (job: JobSummaryWire) =>
                    !list.isGone(job) && (
                      <JobButtons job={{ ref: job.ref }} tube={tube} name={nameOf(job)} after={list.again} />
                    ),
                },
              ]
            : []),
        ]}
      />
      <More list={list} />
    </>
  );
}
