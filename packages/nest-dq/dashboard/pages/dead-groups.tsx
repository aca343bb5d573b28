import { Fragment } from 'preact';
import { useRef } from 'preact/hooks';
import type { DeadGroupsWire, DeadGroupWire, LetterFilterWire } from '../../src/dashboard/wire.js';
import { ActButton } from '../acts/act-button.js';
import { askBulk } from '../acts/bulk-dialog.js';
import { Trend } from '../charts/trend.js';
import { Failure } from '../parts/failure.js';
import { Refresh } from '../parts/live-list.js';
import { useLoad } from '../parts/load.js';
import { Payload } from '../parts/payload.js';
import { Table } from '../parts/table.js';
import { Time } from '../parts/time.js';
import { getData, inPath } from '../server/requests.js';
import { useKept } from '../state/kept.js';
import { live, now } from '../state/live.js';
import { hashOf } from '../state/route.js';
import { t } from '../words/language.js';
import { count, duration, fullTime } from '../words/say.js';
import type { WordKey } from '../words/words.js';

/** Tubes named in a row. */
const NAMED = 3;
const NONE: ReadonlySet<string> = new Set();
/** As often as other lists look at their rows. */
const POLL_MS = 5_000;

/** The dead letters of all tubes, or of one, grouped by their errors. */
export function DeadGroups({
  tube,
  filter,
  query,
}: {
  readonly tube: string | undefined;
  readonly filter: LetterFilterWire;
  /** The address of the same letters, one by one. */
  readonly query: Readonly<Record<string, string | undefined>>;
}) {
  const { data, error, loading, again } = useLoad(
    (signal) => getData<DeadGroupsWire>('dead/groups', { tube, ...filter }, signal),
    [],
    `dead groups ${JSON.stringify([tube, filter])}`,
  );
  const { groups, gone } = usePresent(data, tube, (signal) =>
    getData<DeadGroupsWire>('dead/groups', { tube, ...filter }, signal),
  );
  const fresh = useFresh(data, tube, isAny(filter));
  const [open, setOpen] = useKept<string | undefined>('open', undefined);
  if (!data) return error ? <Failure error={error} /> : <p class="faint">{t('loading')}</p>;
  const { others, letters, more, away } = data;
  const actOn = (name: 'reviveMany' | 'discardMany', { group, tubes }: DeadGroupWire) =>
    askBulk(
      tubes.map((each) => ({ name, body: { tube: each.tube, filter: { ...filter, group } } })),
      again,
    );
  const all = groups.length + others;
  return (
    <>
      {error && <Failure error={error} />}
      <div class="bar">
        <Refresh list={{ fresh, gone, again }} />
        {letters > 0 && (
          <span class="faint">
            {t(totalWord(letters, all), { letters: count(letters), groups: count(all) })}
          </span>
        )}
      </div>
      {more && <p class="faint">{t('dead.older', { letters: count(letters) })}</p>}
      {away.length > 0 && <p class="warning">{t('dead.away', { nodes: away.join(', ') })}</p>}
      <Table
        label={t('dead.groups')}
        rows={groups}
        keyOf={({ group }) => group}
        classOf={({ group }) => (gone.has(group) ? 'gone' : undefined)}
        empty={t(loading ? 'loading' : isAny(filter) ? 'dead.none' : 'dead.noGroups')}
        below={(group) =>
          group.group === open ? (
            <Sample group={group} href={hashOf(['dead'], { ...query, group: open })} />
          ) : undefined
        }
        columns={[
          {
            head: t('dead.error'),
            place: 'lead',
            cell: ({ group, sample }) => (
              <button
                class="plain group"
                aria-expanded={group === open}
                onClick={() => setOpen(group === open ? undefined : group)}
              >
                <ErrorText group={group} sample={sample} />
              </button>
            ),
          },
          {
            head: t('tube'),
            cell: ({ group, tubes }) => <Tubes tubes={tubes} query={{ ...query, group }} />,
          },
          {
            head: t('dead.count'),
            number: true,
            place: 'end',
            cell: ({ group, letters: each }) => (
              <a class="bad strong" href={hashOf(['dead'], { ...query, group })}>
                {count(each)}
              </a>
            ),
          },
          {
            head: t('dead.trend'),
            cell: ({ trend }) => <Trend values={trend} label={trendText(data, trend)} />,
          },
          { head: t('dead.first'), place: 'named', cell: ({ first }) => <Time at={first} /> },
          { head: t('dead.last'), place: 'named', cell: ({ last }) => <Time at={last} relative /> },
          {
            head: t('acts'),
            quiet: true,
            cell: (group) =>
              !gone.has(group.group) && (
                <span class="acts">
                  <ActButton
                    act="reviveMany"
                    label={t('act.revive')}
                    about={group.group}
                    onClick={() => actOn('reviveMany', group)}
                  />
                  <ActButton
                    act="discardMany"
                    label={t('act.discard')}
                    about={group.group}
                    onClick={() => actOn('discardMany', group)}
                  />
                </span>
              ),
          },
        ]}
      />
      {others > 0 && <p class="faint">{t('dead.others', { others: count(others) })}</p>}
    </>
  );
}

function ErrorText({ group, sample: { error, why } }: Pick<DeadGroupWire, 'group' | 'sample'>) {
  if (!error) return <>{`${t('dead.noError')} (${t(`died.${why}`)})`}</>;
  return (
    <>
      <b>{error.name}</b> <span class="message">{group.slice(error.name.length + 2)}</span>
    </>
  );
}

function Tubes({
  tubes,
  query,
}: {
  readonly tubes: DeadGroupWire['tubes'];
  readonly query: Readonly<Record<string, string | undefined>>;
}) {
  const more = tubes.length - NAMED;
  return (
    <span class="long">
      {tubes.slice(0, NAMED).map(({ tube }, i) => (
        <Fragment key={tube}>
          {i > 0 && ', '}
          <a href={hashOf(['dead'], { ...query, tube })}>{tube}</a>
        </Fragment>
      ))}
      {more > 0 && <span class="faint"> {t('dead.moreTubes', { tubes: count(more) })}</span>}
    </span>
  );
}

/** The latest letter of a group. */
function Sample({ group, href }: { readonly group: DeadGroupWire; readonly href: string }) {
  const { sample, letters, tubes } = group;
  const { tube, id, ref, error, diedAt } = sample;
  return (
    <section class="stack" aria-label={t('dead.sample')}>
      <p>
        <b>{t('dead.sample')}</b>{' '}
        <span class="faint">
          {tube} · <Time at={diedAt} relative />
        </span>
      </p>
      {error && (
        <pre class="code" tabIndex={0} aria-label={t('dead.stack')}>
          {error.stack ?? `${error.name}: ${error.message}`}
        </pre>
      )}
      <div class="bar">
        <a class="button" href={hashOf(['job'], { ref })}>
          {t('dead.openJob')}
        </a>
        <a class="button" href={href}>
          {t('dead.openGroup', { letters: count(letters) })}
        </a>
        <Payload path={`tubes/${inPath(tube)}/dead/${inPath(id)}/payload`} />
      </div>
      {tubes.length > 1 && (
        <p class="faint small">{tubes.map((each) => `${each.tube}: ${count(each.letters)}`).join(', ')}</p>
      )}
    </section>
  );
}

function trendText({ from, to }: DeadGroupsWire, trend: readonly number[]): string {
  const [first, last] = [Date.parse(from), Date.parse(to)];
  return t('dead.trendOf', {
    letters: count(trend.reduce((sum, each) => sum + each, 0)),
    from: fullTime(first),
    to: fullTime(last),
    most: count(Math.max(...trend)),
    part: duration(Math.max(1_000, (last - first) / trend.length)),
  });
}

/**
 * The groups as they are now, in the places in which they were read. They are read again when the number of dead letters has
 * changed, at most every five seconds: each time costs the ledger as much as the first one.
 */
function usePresent(
  data: DeadGroupsWire | undefined,
  tube: string | undefined,
  read: (signal: AbortSignal) => Promise<DeadGroupsWire>,
): { readonly groups: readonly DeadGroupWire[]; readonly gone: ReadonlySet<string> } {
  const tubes = (live.value?.tubes?.tubes ?? []).filter((each) => tube === undefined || each.tube === tube);
  const dead = tubes.map((each) => each.dead ?? '?').join();
  const tick = Math.floor(now.value / POLL_MS);
  const seen = useRef({ of: data, tick, first: dead, dead });
  if (seen.current.of !== data) seen.current = { of: data, tick, first: dead, dead };
  else if (seen.current.tick !== tick) seen.current = { ...seen.current, tick, dead };
  const isChanged = seen.current.dead !== seen.current.first;
  const { data: polled } = useLoad(
    async (signal) => (data && isChanged ? { of: data, present: await read(signal) } : undefined),
    [data, seen.current.dead],
  );
  const shown = data?.groups ?? [];
  if (!polled || polled.of !== data) return { groups: shown, gone: NONE };
  const { groups, others, more, away } = polled.present;
  const byName = new Map(groups.map((each) => [each.group, each]));
  const isWhole = others === 0 && !more && away.length === 0;
  const missing = shown.filter(({ group }) => !byName.has(group)).map(({ group }) => group);
  return {
    groups: shown.map((each) => byName.get(each.group) ?? each),
    gone: isWhole ? new Set(missing) : NONE,
  };
}

/** How many jobs have died since the groups were read; if these aren't all, since the first live state after that. */
function useFresh(data: DeadGroupsWire | undefined, tube: string | undefined, isFiltered: boolean): number {
  const base = useRef<{ readonly of: unknown; readonly dead: number }>(undefined);
  const state = live.value;
  if (!data || !state?.tubes || Date.parse(state.now) < Date.parse(data.to)) return 0;
  const tubes = state.tubes.tubes.filter((each) => tube === undefined || each.tube === tube);
  if (tubes.some((each) => each.dead === undefined)) return 0; // unknown, so not to compare
  const dead = tubes.reduce((sum, each) => sum + each.dead!, 0);
  const isAll = !isFiltered && !data.more && data.away.length === 0;
  if (base.current?.of !== data) base.current = { of: data, dead: isAll ? data.letters : dead };
  return Math.max(0, dead - base.current.dead);
}

function totalWord(letters: number, groups: number): WordKey {
  if (groups > 1) return 'dead.total';
  return letters === 1 ? 'dead.single' : 'dead.totalOne';
}

function isAny(filter: LetterFilterWire): boolean {
  return Object.keys(filter).length > 0;
}
