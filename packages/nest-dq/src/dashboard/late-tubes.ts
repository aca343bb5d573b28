import type { Forecast } from '../operate/forecast.js';
import type { DqInspector } from '../operate/inspector.js';
import { checkTimeline, type TimelineOptions } from '../operate/waiting-view.js';

/** Times at which jobs of a tube will start late. */
export interface LateTube extends Pick<Forecast, 'late'> {
  readonly tube: string;
}

/** Tubes to forecast: each takes some calls to the ledger. */
const MAX_TUBES = 10;

/** Resolves with the tubes that will be late, of those with the most jobs, by their first late time. Rejects as `DqInspector.forecast` does. */
export async function lateTubes(
  inspector: Pick<DqInspector, 'tubes' | 'forecast'>,
  options: TimelineOptions,
): Promise<LateTube[]> {
  checkTimeline(options); // even if no tube has jobs
  const { tubes } = await inspector.tubes();
  const largest = tubes
    .map(({ tube, waiting = 0, due = 0, listed = 0 }) => ({ tube, jobs: Math.max(waiting + due, listed) }))
    .filter(({ jobs }) => jobs > 1)
    .toSorted((a, b) => b.jobs - a.jobs)
    .slice(0, MAX_TUBES);
  const forecasts = largest.map(async ({ tube }) => {
    const { late } = await inspector.forecast(tube, options);
    return { tube, late };
  });
  const late = (await Promise.all(forecasts)).filter((each) => each.late.length > 0);
  const first = (each: LateTube) => each.late[0]!.from.getTime();
  return late.toSorted((a, b) => first(a) - first(b));
}
