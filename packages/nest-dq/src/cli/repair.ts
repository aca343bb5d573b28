import { counted, instant } from 'nest-handlers/cli';
import type { RepairExample } from '../operate/repair.js';
import { ACT_FLAGS, actOnMany } from './bulk.js';
import { clusterCommand } from './cluster.js';
import { note } from './process.js';

export const repair = clusterCommand({
  name: 'repair',
  writes: true,
  summary: 'Restore the missing copies of waiting jobs.',
  about:
    'Reschedules each such job to its unchanged due time. Shows the count first and asks for confirmation. Finds only jobs\n' +
    'in the index, in at most 1,000 tubes, and skips those that wait for a retry or are due soon.',
  flags: {
    tube: { value: 'TUBE', help: 'only jobs in this tube' },
    node: { value: 'ENDPOINT', help: 'node that is lost for good; its copies do not count' },
    'due-after': { value: 'TIME', help: 'skip jobs that are due within this time (default 1m)' },
    ...ACT_FLAGS,
  },
  status: '0 done; 1 not done, partly failed, or a node is unreachable; 2 Redis unusable',
  examples: ['nest-dq repair --dry-run', 'nest-dq repair --tube order.cancel --yes --json'],
  async run(args, connected) {
    const { runtime, cluster } = connected;
    const tube = args.text('tube', 'the name of a tube');
    const node = args.text('node', 'host:port of a node');
    const now = runtime.now();
    const away = cluster.nodes.filter(({ up, endpoint }) => !up && endpoint !== node);
    if (away.length > 0) {
      const names = away.map(({ endpoint }) => endpoint).join(', ');
      note(
        `some nodes do not answer, so their copies count, and tubes that only they have are left out: ${names}`,
      );
    }
    const answer = await actOnMany<RepairExample>(
      args,
      connected,
      {
        verb: 'restore missing copies of',
        one: 'job',
        many: 'jobs',
        start: (options) =>
          runtime.control.repair({ ...options, tube, node, dueAfter: args.duration('due-after') }),
        show: ({ id, tube, dueAt, missing }) =>
          `${tube} ${id}  ${counted(missing, 'copy', 'copies')} missing, due ${instant(dueAt, now)}`,
      },
      tube,
    );
    return away.length > 0 ? { ...answer, status: 1 } : answer;
  },
});
