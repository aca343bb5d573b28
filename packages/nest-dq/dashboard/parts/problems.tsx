import { ActButton } from '../acts/act-button.js';
import { resume } from '../acts/resume.js';
import { cutSince, live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import type { TubeProblemWire } from '../status/entries.js';
import { causeText, detailText } from '../status/entry-words.js';
import { t } from '../words/language.js';
import { count, duration, fromNow } from '../words/say.js';
import { Amount } from './amount.js';
import { Badge } from './badge.js';
import { AsOf, Old } from './old.js';
import { type Column, Table } from './table.js';
import { Time } from './time.js';

const TONES = { failure: 'bad', warning: 'warn', note: 'calm' } as const;
const ARROWS = { growing: '↗', shrinking: '↘', steady: '→' } as const;
/** Milliseconds: beyond this, the present rate says nothing. */
const MAX_AHEAD_MS = 7 * 86_400_000;

/** The tubes whose jobs don't run or not in time: why, how many, and the one act that helps. Nothing if there are none. */
export function Problems({
  tube,
  isOwnPage = false,
}: {
  readonly tube: string | undefined;
  /** Whether it's on the page of the tube, which needs no name and no link to itself. */
  readonly isOwnPage?: boolean;
}) {
  const { tubes = [], moreTubes = 0 } = live.value?.problems ?? {};
  const shown = tubes.filter((each) => tube === undefined || each.tube === tube);
  const worst = shown[0]?.level;
  if (worst === undefined) return null;
  // Each old row is dimmed; where all are, the panel says since when.
  const ages = shown.flatMap((each) => each.asOf ?? []).toSorted();
  const asOf = ages.length === shown.length ? ages[0] : undefined;
  return (
    <section class={`card problems ${TONES[worst]}`} aria-label={t('problems')}>
      <div class="card-head">
        <h2>{t('problems')}</h2>
        <AsOf at={asOf} />
      </div>
      <Table
        label={t('problems')}
        rows={shown}
        keyOf={(each) => each.tube}
        empty=""
        columns={[
          ...(isOwnPage ? [] : [nameColumn()]),
          {
            head: t('problems.cause'),
            ...(isOwnPage && { place: 'lead' }),
            cell: (each) => (
              <Old asOf={each.asOf}>
                <Cause {...each} />
              </Old>
            ),
          },
          {
            head: t('timeline.jobs'),
            number: true,
            cell: (each) => (
              <Old asOf={each.asOf}>
                <Jobs {...each} />
              </Old>
            ),
          },
          {
            head: t('problems.oldest'),
            place: 'named',
            cell: (each) => (
              <Old asOf={each.asOf}>{each.oldestDue && <Time at={each.oldestDue} relative />}</Old>
            ),
          },
          { head: t('problems.trend'), cell: Trend },
          {
            head: t('acts'),
            quiet: true,
            cell: (each) => <Help {...each} isOwnPage={isOwnPage} />,
          },
        ]}
      />
      {tube === undefined && moreTubes > 0 && (
        <p class="faint small">{t('problems.moreTubes', { tubes: count(moreTubes) })}</p>
      )}
    </section>
  );
}

function nameColumn(): Column<TubeProblemWire> {
  return {
    head: t('tube'),
    place: 'lead',
    cell: ({ tube }) => (
      <a class="long" href={hashOf(['tubes', tube])}>
        {tube}
      </a>
    ),
  };
}

function Cause(problem: TubeProblemWire) {
  const { code, level } = problem;
  return (
    <>
      <Badge tone={TONES[level]}>{causeText(code)}</Badge>{' '}
      <span class="faint small">{detailText(problem)}</span>
    </>
  );
}

/** Runs of jobs that are dead by now fail, too. */
function Jobs({ code, tube, jobs, due, dead = 0, failedRuns }: TubeProblemWire) {
  if (code === 'failing' && jobs === 0) {
    const text = t('problems.failedRuns', { runs: count(failedRuns) });
    return dead > 0 ? <a href={hashOf(['dead'], { tube })}>{text}</a> : <>{text}</>;
  }
  return (
    <a href={hashOf(['waiting'], { tube, ...(due !== undefined && due > 0 && { state: 'due' }) })}>
      <Amount of={jobs} />
    </a>
  );
}

function Trend({ trend, caughtUpIn }: TubeProblemWire) {
  if (!trend) return '–';
  return (
    <span class={trend === 'growing' ? 'grows' : undefined}>
      <span aria-hidden="true">{ARROWS[trend]} </span>
      {t(`trend.${trend}`)}
      {caughtUpIn !== undefined && caughtUpIn < MAX_AHEAD_MS && cutSince.value === undefined && (
        <span class="faint small" title={duration(caughtUpIn)}>
          {' '}
          · {t('problems.caughtUp')} {fromNow(now.value + Math.ceil(caughtUpIn / 1_000) * 1_000)}
        </span>
      )}
    </span>
  );
}

/** The one act that helps, or the page that says more. */
export function Help({
  code,
  tube,
  due,
  dead = 0,
  isOwnPage = false,
  after = () => undefined,
}: Pick<TubeProblemWire, 'code' | 'tube' | 'due' | 'dead'> & {
  /** Whether it's on the page of the tube. */
  readonly isOwnPage?: boolean;
  /** Called once the act is over. */
  readonly after?: () => void;
}) {
  const link = (text: string, hash: string) => (
    <a class="button" href={hash} aria-label={`${text} ${tube}`}>
      {text}
    </a>
  );
  switch (code) {
    case 'paused':
      if (isOwnPage) return null; // its title has the button
      return (
        <ActButton
          act="resume"
          label={t('act.resume')}
          about={tube}
          onClick={() => resume(tube, due, after)}
        />
      );
    case 'failing':
      return dead > 0
        ? link(t('help.letters'), hashOf(['dead'], { tube }))
        : link(t('help.retries'), hashOf(['waiting'], { tube, state: 'retrying' }));
    case 'no-consumer':
    case 'settling':
    case 'not-reserving':
      return link(t('help.processes'), hashOf(['cluster']));
    case 'series-missed':
      return link(t('nav.job'), hashOf(['job'], { tube, key: 'recurring' }));
    case 'nodes-away':
    case 'ledger-down':
      return link(t('nav.cluster'), hashOf(['cluster']));
    case 'slots-full':
      return link(t('nav.running'), hashOf(['running']));
    default:
      return isOwnPage ? null : link(t('help.tube'), hashOf(['tubes', tube]));
  }
}
