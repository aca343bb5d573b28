import { counted, distance, facts, grouped, instant, span } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import type { CopyCounts } from '../operate/node-view.js';
import type { TubeLimitsView, TubePause, TubeView } from '../operate/tube-view.js';

const UNKNOWN = 'unknown';

/** Formats everything known about one tube. `newest`: the dead letter that died last. */
export function tubeFacts(view: TubeView, newest: DeadLetter | undefined, now: number): string[] {
  const { tube, nodes, waiting, due, running, dead, paused, limits, changedLimits, listed, copies } = view;
  const number = (count: number | undefined) => (count === undefined ? UNKNOWN : grouped(count));
  return facts({
    tube,
    waiting: number(waiting),
    due: number(due),
    running: number(running),
    dead: number(dead),
    'last death': newest && deathText(newest, now),
    paused: paused && pauseText(paused, now),
    limits: limits && limitsText(limits),
    'limits changed': changedLimits && changedText(changedLimits.until, now),
    listed: number(listed),
    overdue: overdueText(view, now),
    retrying: number(view.retrying),
    consumers: consumersText(view),
    copies: copies && `${copiesText(copies)}, on ${counted(nodes, 'node')}`,
  });
}

function deathText({ key, id, diedAt, why, error }: DeadLetter, now: number): string {
  const [line = ''] = (error?.message ?? '').split('\n');
  return `${distance(diedAt.getTime() - now)}, ${key ?? id}: ${why}${line === '' ? '' : `: ${line}`}`;
}

function changedText(until: Date | undefined, now: number): string {
  return `until ${until ? instant(until, now) : 'they are reset'}`;
}

function pauseText({ since, until }: TubePause, now: number): string {
  return `since ${instant(since, now)} until ${until ? instant(until, now) : 'it is resumed'}`;
}

function overdueText({ overdue, oldestDue, overdueFor = 0 }: TubeView, now: number): string {
  if (overdue === undefined) return UNKNOWN;
  if (oldestDue === undefined) return grouped(overdue);
  return `${grouped(overdue)}, the oldest by ${span(overdueFor)}, due ${instant(oldestDue, now)}`;
}

function consumersText({ consumers, watching }: TubeView): string {
  // Nobody reserves while Redis is away.
  if (consumers === undefined && !watching) return UNKNOWN;
  return [
    ...(consumers === undefined ? [] : [counted(consumers, 'process', 'processes')]),
    ...(watching === undefined ? [] : [`${counted(watching, 'connection')} taking jobs`]),
  ].join(', ');
}

function copiesText({ ready, delayed, reserved, buried }: CopyCounts): string {
  const parts = { ready, delayed, reserved, buried };
  return Object.entries(parts)
    .map(([name, count]) => `${grouped(count)} ${name}`)
    .join(', ');
}

/** Formats the limits on one line. */
export function limitsText({
  rate,
  per = 0,
  concurrency,
  running,
  perGroup,
  unequal,
}: TubeLimitsView): string {
  return [
    ...(rate === undefined ? [] : [`${grouped(rate)} in ${span(per)}`]),
    ...(concurrency === undefined ? [] : [`${running ?? '?'} of ${concurrency} running`]),
    ...(perGroup === undefined ? [] : [`${perGroup} per group`]),
    ...(unequal ? ['UNEQUAL'] : []),
  ].join(', ');
}
