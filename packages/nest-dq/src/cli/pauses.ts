import type { DqRuntime } from '../nest/runtime.js';
import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';
import { distance, instant } from './output.js';

const operands = ['TUBE'];
const NO_DOUBT = { text: '', json: {} };

/** The name of the tube may be wrong: no process consumes it, and no node that answers has a copy of a job of it. */
async function doubtOf({ inspector }: DqRuntime, tube: string): Promise<{ text: string; json: object }> {
  const { nodes, consumers, watching, copies, dead } = await inspector.tube(tube);
  const isEmpty = nodes > 0 && copies && Object.values(copies).every((count) => count === 0);
  if (!isEmpty || consumers !== 0 || watching !== 0 || dead !== 0) return NO_DOUBT;
  return {
    text: '\nNo process consumes this tube, and it has no job: is the name right?',
    json: { unknown: true },
  };
}

export const pause = clusterCommand({
  name: 'pause',
  operands,
  summary: 'Stops a tube: no run of it begins in any process, until `resume`.',
  about:
    'Runs that have begun go on, and adds, moves and revokes work. A tube that is paused gets the new end.',
  flags: {
    until: {
      value: 'TIME',
      help: 'it goes on by itself then: 2026-12-24T18:00:00Z, or a time from now, such as 2h',
    },
  },
  status: '0 it is paused, 1 Redis is away',
  examples: ['nest-dq pause mail.welcome --until 2h', 'nest-dq pause mail.welcome --json'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const until = args.instant('until', runtime.now());
    const found = await runtime.control.pause(tube, { by: operator(), ...(until && { until }) });
    const end = found.until === undefined ? 'somebody resumes it' : instant(found.until, runtime.now());
    const doubt = await doubtOf(runtime, tube);
    return { json: { tube, ...found, ...doubt.json }, text: `${tube}: is paused until ${end}${doubt.text}` };
  },
});

export const resume = clusterCommand({
  name: 'resume',
  operands,
  summary: 'Ends the pause of a tube: what is due runs.',
  about: 'All processes know it within a second.',
  flags: {},
  status: '0 it is not paused now, also if it was not before, 1 Redis is away',
  examples: ['nest-dq resume mail.welcome'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const ended = await runtime.control.resume(tube, { by: operator() });
    const since = ended && distance(ended.since.getTime() - runtime.now());
    const doubt = ended ? NO_DOUBT : await doubtOf(runtime, tube);
    const text = `${tube}: ${ended ? `goes on; it was paused ${since}` : 'was not paused'}${doubt.text}`;
    return { json: { tube, ended: ended ?? null, ...doubt.json }, text };
  },
});
