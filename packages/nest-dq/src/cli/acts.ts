import { instant, table } from 'nest-handlers/cli';
import type { ActPage, ActView } from '../operate/act-view.js';
import { clusterCommand } from './cluster.js';

export const acts = clusterCommand({
  name: 'acts',
  summary: 'Lists what operators did, in all processes and by this program; the latest first.',
  about:
    'CHANGED counts the jobs, dead letters, tubes or nodes that an act changed. Redis has the last 1,000 acts. With --json\n' +
    'it also gives a cursor if more follow.',
  flags: {
    limit: { value: 'N', help: 'at most so many (default 50, at most 1000)' },
    cursor: { value: 'CURSOR', help: 'goes on where the page before ended' },
  },
  status: '0 listed, 1 Redis is away',
  examples: ['nest-dq acts', 'nest-dq acts --limit 5 --json'],
  async run(args, { runtime }) {
    const page = await runtime.inspector.acts({
      limit: args.count('limit', 1, 1_000),
      cursor: args.text('cursor', 'the cursor of the page before'),
    });
    return { json: page, text: showPage(page, runtime.now()) };
  },
});

function showPage({ acts: shown, cursor }: ActPage, now: number): string {
  const rows = shown.map(({ at, by, act, on, count, error }) => [
    instant(at, now),
    by,
    act,
    showOn(on),
    count,
    error?.message ?? '',
  ]);
  const head = ['WHEN', 'WHO', 'ACT', 'ON', 'CHANGED', 'ERROR'];
  const lines = rows.length === 0 ? 'nobody did anything' : table(head, rows);
  return cursor === undefined ? lines : `${lines}\n\n… and more: --cursor ${cursor}`;
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
