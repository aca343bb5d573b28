import type { DqInspector } from '../operate/inspector.js';
import type { TubeView } from '../operate/tube-view.js';
import { checkTimeline, type TimelineBucket, type TimelineOptions } from '../operate/waiting-view.js';

/** Tubes that a chart can tell apart. */
const MOST_TUBES = 20;

/** The timelines of the tubes with the most jobs that wait. It throws what `DqInspector.timeline` throws. */
export async function timelines(
  inspector: DqInspector,
  options: TimelineOptions,
): Promise<{ tubes: { tube: string; buckets: TimelineBucket[] }[]; others: number }> {
  checkTimeline(options); // also where no tube has jobs
  const { tubes } = await inspector.tubes();
  const used = tubes.filter((tube) => jobsOf(tube) > 0).toSorted((a, b) => jobsOf(b) - jobsOf(a));
  const shown = used.slice(0, MOST_TUBES);
  const lines = shown.map(async ({ tube }) => ({ tube, buckets: await inspector.timeline(tube, options) }));
  return { tubes: await Promise.all(lines), others: used.length - shown.length };
}

/** About how many wait, also those that are due. */
function jobsOf({ waiting = 0, due = 0, listed = 0 }: TubeView): number {
  return Math.max(waiting + due, listed);
}
