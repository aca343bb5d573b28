import { instant, type Line, styled, table } from 'nest-handlers/cli';
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
    return { json: page, text: showPage(page, runtime.now()) };
  },
});

function showPage({ acts: shown, cursor }: ActPage, now: number): Line[] {
  const rows = shown.map(({ at, by, act, on, count, error }) => [
    instant(at, now),
    by,
    act,
    showOn(on),
    count,
    styled('red', error?.message ?? ''),
  ]);
  const head = ['WHEN', 'WHO', 'ACT', 'ON', 'CHANGED', 'ERROR'];
  return [
    rows.length === 0 ? 'no acts recorded' : table(head, rows),
    ...(cursor === undefined ? [] : ['', `… and more: --cursor ${cursor}`]),
  ];
}

/** `order.cancel 42`, `mail {"state":"retrying"}`, `10.0.0.1:11300`, `orders.shop.kq-dead 0/12` */
function showOn({ tube, id, key, node, cluster, topic, filter, change }: ActView['on']): string {
  const isGiven = (filtered: object) => Object.keys(filtered).length > 0;
  const parts = [
    tube,
    cluster,
    topic,
    key ?? id,
    node,
    filter && isGiven(filter) ? JSON.stringify(filter) : undefined,
  ];
  const to = change === undefined ? [] : [`to ${JSON.stringify(change)}`];
  return [...parts.filter((part) => part !== undefined), ...to].join(' ');
}
