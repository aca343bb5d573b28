import { column, grouped, instantCell, span, type Line, styled, table } from 'nest-handlers/cli';
import type { ActPage, ActView } from '../operate/act-view.js';
import { clusterCommand } from './cluster.js';
import { PAGE_FLAGS, pageOf } from './page-flags.js';

export const acts = clusterCommand({
  name: 'acts',
  summary: 'List operator actions, taken in any process or with this program, newest first.',
  about:
    'CHANGED: number of jobs, dead letters, tubes or nodes changed. Redis keeps the last 1,000 actions. With --json,\n' +
    'also prints a cursor if there are more.',
  flags: {
    ...PAGE_FLAGS,
  },
  status: '0 listed; 2 Redis unusable',
  examples: ['nest-dq acts', 'nest-dq acts --limit 5 --json'],
  async run(args, { runtime }) {
    const page = await runtime.inspector.acts(pageOf(args));
    return { json: page, text: showActs(page, runtime.now()) };
  },
});

/** Formats one row per act. */
export function showActs({ acts: shown, cursor }: ActPage, now: number): Line[] {
  const rows = shown.map(({ at, by, act, on, count, error }) => [
    instantCell(at, now),
    by,
    act,
    showOn(on),
    count,
    styled('red', error?.message ?? ''),
  ]);
  const head = [column('time', 'WHEN'), 'WHO', 'ACT', 'ON', 'CHANGED', column('reason', 'ERROR')];
  return [
    rows.length === 0 ? 'no acts recorded' : table(head, rows),
    ...(cursor === undefined ? [] : ['', `… and more: --cursor ${cursor}`]),
  ];
}

/** `order.cancel 42`, `mail: retrying, at most 3`, `10.0.0.1:11300`, `orders.shop.kq-dead 0/12` */
function showOn({ tube, id, key, node, cluster, topic, filter, change }: ActView['on']): string {
  const place = [tube, cluster, topic, key ?? id, node].filter((part) => part !== undefined).join(' ');
  const words = [filter && filterText(filter), change === undefined ? undefined : `to ${changeText(change)}`];
  const shown = words.filter((part) => part !== undefined).join(', ');
  return [place, shown].filter((part) => part !== '').join(': ');
}

/** By the options of the filters of `DqControl`. */
const FILTERS: Readonly<Record<string, (value: string) => string>> = {
  dueFrom: (time) => `due from ${timeText(time)}`,
  dueTo: (time) => `due before ${timeText(time)}`,
  diedFrom: (time) => `died from ${timeText(time)}`,
  diedTo: (time) => `died before ${timeText(time)}`,
  from: (time) => `from ${timeText(time)}`,
  to: (time) => `before ${timeText(time)}`,
  state: (state) => state,
  why: (why) => `dead by ${why}`,
  error: (text) => `error contains ${JSON.stringify(text)}`,
  group: (group) => `group ${JSON.stringify(group)}`,
  limit: (count) => `at most ${grouped(Number(count))}`,
};

/** `all`; `retrying, at most 3` */
function filterText(filter: object): string {
  const parts = Object.entries(filter).map(([name, value]) =>
    typeof value === 'object'
      ? `${name} ${JSON.stringify(value)}`
      : (FILTERS[name]?.(String(value)) ?? `${name} ${value}`),
  );
  return parts.length === 0 ? 'all' : parts.join(', ');
}

/** A time, or what a bulk move does to each: `1 h later`. */
function changeText(change: unknown): string {
  if (typeof change === 'string') return timeText(change);
  if (typeof change !== 'object' || change === null) return JSON.stringify(change);
  return Object.entries(change)
    .map(([name, value]) =>
      typeof value === 'number' && name !== 'perMinute' ? `${name} ${span(value)}` : `${name} ${value}`,
    )
    .join(', ');
}

function timeText(time: string): string {
  return time.replace(/\.\d+Z$/, 'Z');
}
