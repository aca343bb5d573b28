import type { SeriesRunWire, SeriesWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askFirst, doAct, runNow } from '../acts/one.js';
import { Badge } from '../parts/badge.js';
import { Failure } from '../parts/failure.js';
import { JobState } from '../parts/job-state.js';
import { useLoad } from '../parts/load.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { getData } from '../server/requests.js';
import { now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { language, t } from '../words/language.js';
import { count, duration, fromNow, fullTime, time } from '../words/say.js';

const FRESH = 10_000;
const TONES = { completed: 'good', retrying: 'warn', dead: 'bad', failed: 'bad' } as const;

/** Recurring jobs of all processes: how they ran last, and their next times. */
export function SeriesList() {
  const turn = Math.floor(now.value / FRESH);
  const { data, error, again } = useLoad(
    (signal) => getData<SeriesWire>('series', {}, signal),
    [turn],
    'series',
  );
  const { data: cron } = useLoad(() => import('../figures/cron-words.js'), []);
  const inWords = (plan: string) => cron?.cronInWords(plan, language.value);
  return (
    <section class="card" aria-label={t('series')}>
      <h2>{t('series')}</h2>
      {error && <Failure error={error} />}
      <Table
        label={t('series')}
        rows={data ?? []}
        keyOf={({ tube, key }) => `${tube} ${key}`}
        empty={error ? '' : t(data ? 'series.none' : 'loading')}
        columns={[
          {
            head: t('tube'),
            cell: ({ tube, key }) => (
              <a class="long" href={hashOf(['job'], { tube, key })}>
                {tube}
              </a>
            ),
          },
          {
            head: t('series.plan'),
            cell: ({ plan, unequal }) => (
              <>
                {inWords(plan) !== undefined && <div>{inWords(plan)}</div>}
                <code class={inWords(plan) === undefined ? undefined : 'faint small'}>{plan}</code>{' '}
                {unequal && <Badge tone="warn">{t('series.unequal')}</Badge>}
              </>
            ),
          },
          { head: t('state'), cell: ({ state }) => (state === 'none' ? '–' : <JobState state={state} />) },
          { head: t('series.last'), cell: ({ last }) => (last ? <LastRun run={last} /> : '–') },
          {
            head: t('series.next'),
            cell: ({ next, missedSince }) => (
              <>
                {missedSince !== undefined && (
                  <div>
                    <Badge tone="warn">
                      {t('series.missed', { time: fromNow(Date.parse(missedSince)) })}
                    </Badge>
                  </div>
                )}
                {next ? (
                  <Time at={next} relative={missedSince === undefined} />
                ) : (
                  missedSince === undefined && '–'
                )}
              </>
            ),
          },
          {
            head: t('series.later'),
            cell: ({ later }) =>
              later.length === 0 ? (
                '–'
              ) : (
                <span class="faint">{later.map((at) => time(Date.parse(at))).join(' · ')}</span>
              ),
          },
          {
            head: t('series.processes'),
            number: true,
            cell: ({ processes }) => (
              <span class={processes === 0 ? 'bad' : undefined}>{count(processes)}</span>
            ),
          },
          {
            head: t('acts'),
            quiet: true,
            cell: ({ tube, key, state, next, later: [following] }) =>
              (state === 'waiting' || state === 'retrying') && (
                <>
                  <ActButton
                    act="runNow"
                    label={t('series.trigger')}
                    about={tube}
                    onClick={() => runNow({ tube, key }, tube, again)}
                  />
                  {state === 'waiting' && next && following && (
                    <ActButton
                      act="reschedule"
                      label={t('series.skip')}
                      about={tube}
                      onClick={() =>
                        askFirst(
                          'reschedule',
                          t('series.skipTitle', { tube }),
                          t('series.skipText', {
                            next: fullTime(Date.parse(next)),
                            following: fullTime(Date.parse(following)),
                          }),
                          t('series.skip'),
                          () => doAct('reschedule', { tube, key, at: following }, again),
                        )
                      }
                    />
                  )}
                </>
              ),
          },
        ]}
      />
    </section>
  );
}

function LastRun({ run }: { readonly run: SeriesRunWire }) {
  const { outcome, endedAt, took, process, attempt, error } = run;
  const facts = [
    took === undefined ? undefined : t('series.took', { duration: duration(took) }),
    attempt > 1 ? t('series.attempt', { attempt: count(attempt) }) : undefined,
    process,
  ];
  return (
    <>
      <Badge tone={TONES[outcome]}>{t(`outcome.${outcome}`)}</Badge> <Time at={endedAt} relative />
      <div class="faint small">{facts.filter((each) => each !== undefined).join(' · ')}</div>
      {error !== undefined && <div class="bad small long">{error}</div>}
    </>
  );
}
