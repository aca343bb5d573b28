import { counted, instant } from 'nest-handlers/cli';
import { withinLimit } from '../../time/call-limit.js';
import type { DqInspector } from '../../operate/inspector.js';
import type { SeriesView } from '../../operate/series-view.js';
import type { Clock } from 'nest-handlers/time';
import { ok, warning, type Check } from './check.js';

/** Time limit for reading the series. */
const LIMIT_MS = 2_000;

/**
 * Returns all checks of the series; none if there are no series.
 * @param now Ledger time in ms.
 * @param explained Tubes of which another check says why no job of theirs runs.
 */
export async function checkSeries(
  inspector: Pick<DqInspector, 'series'>,
  clock: Clock,
  now: number,
  explained: ReadonlySet<string>,
): Promise<Check[]> {
  const series = await withinLimit(clock, LIMIT_MS, inspector.series()).catch(() => undefined);
  if (!series) return [warning('series', 'could not be read', 'run this command again')];
  const missed = series.filter(({ missedSince }) => missedSince !== undefined);
  if (series.length === 0) return [];
  if (missed.length === 0)
    return [ok('series', `${counted(series.length, 'series', 'series')}, all on time`)];
  return missed.filter(({ tube }) => !explained.has(tube)).map((each) => checkMissed(each, now));
}

function checkMissed({ name, tube, key, processes, state, missedSince }: SeriesView, now: number): Check {
  const about = name ?? tube;
  const fact = `should have run at ${instant(missedSince!, now)}`;
  if (processes === 0)
    return warning(about, `${fact}; no process has this series`, 'start a process that has it');
  if (state !== 'waiting' && state !== 'retrying') {
    const advice = 'check the logs of its processes: each of them tries to schedule it every minute';
    return warning(about, `${fact}, but has no job`, advice);
  }
  return warning(about, fact, `find out why: \`nest-dq explain --tube ${tube} --key ${key}\``);
}
