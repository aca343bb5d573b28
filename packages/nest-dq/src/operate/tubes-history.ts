import { FIRST_CLASS, NUMBERS } from '../events/tally.js';
import {
  addCounts,
  hourOf,
  QUARTER,
  REMEMBERED,
  type History,
  type MinuteOfTube,
} from '../ledger/history.js';

/** How much a tube runs now, and how late its runs began in the last two days. */
export interface TubeHistory {
  /** Without the prefix. */
  readonly tube: string;
  /** Runs that began in a minute, on average: in the last whole quarter of an hour, and in the one that goes on. */
  readonly perMinute: number;
  /** The hours in which any run began, the first one first. */
  readonly hours: readonly {
    /** When the hour began. */
    readonly at: Date;
    /** Runs that began, by the classes of lateness of `HistoryBucket.byLateness`. */
    readonly started: readonly number[];
  }[];
}

/** All tubes that have numbers of their own, in one call for each hour of two days. `DQ_LEDGER_DOWN`. */
export async function historyOfTubes(history: History): Promise<TubeHistory[]> {
  const now = history.now() / 60_000;
  const first = hourOf(now - REMEMBERED / 60_000);
  const hours = Array.from({ length: hourOf(now) - first + 1 }, (_, i) => first + i);
  const quarters = (await Promise.all(hours.map((hour) => history.quarters(hour)))).flat();
  const byTube = new Map<string, MinuteOfTube[]>();
  for (const quarter of quarters) {
    const others = byTube.get(quarter.tube);
    if (others) others.push(quarter);
    else byTube.set(quarter.tube, [quarter]);
  }
  return Array.from(byTube, ([tube, ofTube]) => ({
    tube,
    perMinute: paceOf(ofTube, now),
    hours: hoursOf(ofTube),
  }));
}

function paceOf(quarters: readonly MinuteOfTube[], now: number): number {
  const from = (Math.floor(now / QUARTER) - 1) * QUARTER;
  const started = quarters.filter(({ minute }) => minute >= from).flatMap(startedIn);
  return started.reduce((sum, runs) => sum + runs, 0) / (now - from);
}

function hoursOf(quarters: readonly MinuteOfTube[]): TubeHistory['hours'] {
  const hours = new Map<number, number[]>();
  for (const quarter of quarters) {
    const hour = hourOf(quarter.minute);
    const known = hours.get(hour) ?? [];
    addCounts(known, startedIn(quarter));
    hours.set(hour, known);
  }
  return Array.from(hours, ([hour, started]) => ({ at: new Date(hour * 3_600_000), started })).filter(
    ({ started }) => started.some((runs) => runs > 0),
  );
}

function startedIn({ counts }: MinuteOfTube): readonly number[] {
  return Array.from({ length: NUMBERS - FIRST_CLASS }, (_, i) => counts[FIRST_CLASS + i] ?? 0);
}
