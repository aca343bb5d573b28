import { signal } from '@preact/signals';
import type { ExplanationWire, ProcessesWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askFirst, doAct } from '../acts/one.js';
import { isProbablyStuck } from '../../src/operate/stuck.js';
import { Badge } from '../parts/badge.js';
import { useMeanRuns } from '../parts/mean-runs.js';
import { AsOf } from '../parts/old.js';
import { Silent } from '../parts/silent.js';
import { Progress } from '../parts/progress.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { refOf } from '../state/job-address.js';
import { knownAt, live } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';

interface LongRun {
  readonly tube: string;
  readonly id: string;
  readonly key?: string;
  readonly attempt: number;
  readonly since: string;
  readonly progress?: ExplanationWire['progress'];
  /** Machine and process id. */
  readonly process: string;
  /** When its process was last heard of. */
  readonly toldAt: string;
  /** Whether its tube has a series. */
  readonly recurs: boolean;
}

/** Runs that this page has asked to stop. */
const stopping = signal<ReadonlySet<string>>(new Set());
const idOf = ({ process, id, attempt }: LongRun) => `${process} ${id} ${attempt}`;

/** Runs that have taken longer than a second, longest first. */
export function RunningPage() {
  const means = useMeanRuns();
  const processes = live.value?.processes;
  if (!processes) return <p class="faint">{t('loading')}</p>;
  const asOf = live.value?.asOf.processes;
  const reportedAt = asOf === undefined ? knownAt.value : Date.parse(asOf);
  const running = processes.reduce(
    (sum, { tubes }) => sum + tubes.reduce((all, each) => all + each.running, 0),
    0,
  );
  const runs = longRuns(processes);
  return (
    <>
      <div class="title">
        <h1>{t('nav.running')}</h1>
        <span class="faint">
          {t('running.total', { running: count(running), processes: count(processes.length) })}
        </span>
      </div>
      <section class={asOf === undefined ? 'card' : 'card old'} aria-label={t('nav.running')}>
        <p class="faint">
          {t('running.about')} <AsOf at={asOf} />
        </p>
        <Table
          label={t('nav.running')}
          rows={runs}
          keyOf={idOf}
          empty={t('running.none')}
          below={({ progress }) => progress && <Progress {...progress} />}
          columns={[
            {
              head: t('nav.job'),
              place: 'lead',
              cell: ({ tube, id, key }) => (
                <a class="long mono" href={hashOf(['job'], refOf({ tube, id, key }))}>
                  {key ?? id}
                </a>
              ),
            },
            {
              head: t('tube'),
              cell: ({ tube }) => (
                <a class="long" href={hashOf(['tubes', tube])}>
                  {tube}
                </a>
              ),
            },
            {
              head: t('process'),
              cell: ({ process, toldAt }) => (
                <>
                  <span class="long">{process}</span> {asOf === undefined && <Silent toldAt={toldAt} />}
                </>
              ),
            },
            { head: t('job.attempt'), number: true, cell: ({ attempt }) => count(attempt) },
            { head: t('run.startedAt'), place: 'named', cell: ({ since }) => <Time at={since} /> },
            {
              head: t('running.for'),
              place: 'end',
              number: true,
              cell: ({ since, tube }) => (
                <RunFor ms={Math.max(0, reportedAt - Date.parse(since))} mean={means.get(tube)} />
              ),
            },
            {
              head: t('acts'),
              quiet: true,
              cell: (run) =>
                stopping.value.has(idOf(run)) ? (
                  <Badge tone="warn">{t('running.stopping')}</Badge>
                ) : (
                  <ActButton
                    act="abort"
                    label={t('act.abort')}
                    about={run.key ?? run.id}
                    onClick={() => askToAbort(run)}
                  />
                ),
            },
          ]}
        />
      </section>
    </>
  );
}

function RunFor({ ms, mean }: { readonly ms: number; readonly mean: number | undefined }) {
  if (mean === undefined) return duration(ms);
  return (
    <>
      {isProbablyStuck(ms, mean) ? <Badge tone="bad">{duration(ms)}</Badge> : duration(ms)}
      <div class="faint small">{t('running.usually', { duration: duration(mean) })}</div>
    </>
  );
}

function askToAbort(run: LongRun): void {
  const { tube, id, key, recurs } = run;
  const text = recurs ? `${t('abort.text')} ${t('abort.series')}` : t('abort.text');
  askFirst('abort', t('abort.title', { job: key ?? id, tube }), text, t('act.abort'), async () => {
    const isAsked = await doAct('abort', refOf({ tube, id, key }), () => undefined);
    if (isAsked) stopping.value = new Set([...stopping.value, idOf(run)]);
  });
}

function longRuns(processes: ProcessesWire): LongRun[] {
  const runs = processes.flatMap(({ host, pid, tubes, toldAt }) =>
    tubes.flatMap(({ tube, plan, longRuns: all }) =>
      all.map((run) => ({ ...run, tube, process: `${host}:${pid}`, toldAt, recurs: plan !== undefined })),
    ),
  );
  return runs.toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since));
}
