import type { ProcessesWire } from '../../src/dashboard/wire.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, duration } from '../words/say.js';

interface LongRun {
  readonly tube: string;
  readonly id: string;
  readonly attempt: number;
  readonly since: string;
  /** Machine and process id. */
  readonly process: string;
}

/** Runs that have taken longer than a second, longest first. */
export function RunningPage() {
  const processes = live.value?.processes;
  if (!processes) return <p class="faint">{t('loading')}</p>;
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
      <section class="card" aria-label={t('nav.running')}>
        <p class="faint">{t('running.about')}</p>
        <Table
          label={t('nav.running')}
          rows={runs}
          keyOf={({ process, id, attempt }) => `${process} ${id} ${attempt}`}
          empty={t('running.none')}
          columns={[
            {
              head: t('nav.job'),
              cell: ({ tube, id }) => (
                <a class="long mono" href={hashOf(['job'], { tube, id })}>
                  {id}
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
            { head: t('process'), cell: ({ process }) => <span class="long">{process}</span> },
            { head: t('job.attempt'), number: true, cell: ({ attempt }) => count(attempt) },
            { head: t('run.startedAt'), cell: ({ since }) => <Time at={since} /> },
            {
              head: t('running.for'),
              number: true,
              cell: ({ since }) => duration(Math.max(0, now.value - Date.parse(since))),
            },
          ]}
        />
      </section>
    </>
  );
}

function longRuns(processes: ProcessesWire): LongRun[] {
  const runs = processes.flatMap(({ host, pid, tubes }) =>
    tubes.flatMap(({ tube, longRuns: all }) =>
      all.map((run) => ({ ...run, tube, process: `${host}:${pid}` })),
    ),
  );
  return runs.toSorted((a, b) => Date.parse(a.since) - Date.parse(b.since));
}
