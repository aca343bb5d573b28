import { counted, instant } from 'nest-handlers/cli';
import type { RepairExample } from '../operate/repair.js';
import { ACT_FLAGS, actOnMany, BULK_STATUS } from './bulk.js';
import { clusterCommand } from './cluster.js';
import { tell } from './process.js';

export const repair = clusterCommand({
  name: 'repair',
  writes: true,
  summary: 'Gives jobs that wait the copies that they miss.',
  about:
    'Each such job is moved to its own instant. It counts them and asks before it begins. It finds jobs that are listed, of at\n' +
    'most 1,000 tubes, and leaves those alone that wait for a retry or are due soon.',
  flags: {
    tube: { value: 'TUBE', help: 'only the jobs of this tube' },
    node: { value: 'ENDPOINT', help: 'this node will not come back, so that its copies do not count' },
    'due-after': { value: 'TIME', help: 'leaves those alone that are due sooner (default 1m)' },
    ...ACT_FLAGS,
  },
  status: BULK_STATUS,
  examples: ['nest-dq repair --dry-run', 'nest-dq repair --tube order.cancel --yes --json'],
  async run(args, { runtime, cluster }) {
    const tube = args.text('tube', 'the name of a tube');
    const node = args.text('node', 'host:port of a node');
    const now = runtime.now();
    const away = cluster.nodes.filter(({ up, endpoint }) => !up && endpoint !== node);
    if (away.length > 0) {
      const names = away.map(({ endpoint }) => endpoint).join(', ');
      tell(
        `these do not answer, so their copies count, and tubes that only they have are left out: ${names}`,
      );
    }
    const answer = await actOnMany<RepairExample>(args, {
      verb: 'give missing copies to',
      one: 'job',
      many: 'jobs',
      start: (options) =>
        runtime.control.repair({ ...options, tube, node, dueAfter: args.duration('due-after') }),
      show: ({ id, tube, dueAt, missing }) =>
        `${tube} ${id}  ${counted(missing, 'copy', 'copies')} missing, due ${instant(dueAt, now)}`,
    });
    return away.length > 0 ? { ...answer, status: 1 } : answer;
  },
});
