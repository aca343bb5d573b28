import { distance, instant } from 'nest-handlers/cli';
import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';

const operands = ['TUBE'];
/** The hint shown if nobody seems to know the tube. */
function doubt(unknown: true | undefined): string {
  return unknown ? '\nNo process consumes this tube, and it has no job: is the name right?' : '';
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
    const found = await runtime.control.pause(tube, { by: operator(), until });
    const end = found.until === undefined ? 'somebody resumes it' : instant(found.until, runtime.now());
    return { json: { tube, ...found }, text: `${tube}: is paused until ${end}${doubt(found.unknown)}` };
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
    const { ended, unknown } = await runtime.control.resume(tube, { by: operator() });
    const since = ended && distance(ended.since.getTime() - runtime.now());
    const text = `${tube}: ${ended ? `goes on; it was paused ${since}` : 'was not paused'}${doubt(unknown)}`;
    return { json: { tube, ended: ended ?? null, unknown }, text };
  },
});
