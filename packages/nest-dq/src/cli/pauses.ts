import { distance, instant } from 'nest-handlers/cli';
import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';

const operands = ['TUBE'];
/** Returns a hint if nothing seems to know the tube. */
function doubt(unknown: true | undefined): string {
  return unknown ? '\nNo process consumes this tube, and it has no jobs: is the name right?' : '';
}

export const pause = clusterCommand({
  name: 'pause',
  operands,
  summary: 'Pause a tube: no process starts a run until it is resumed.',
  about:
    'Started runs continue, and jobs can still be added, moved and revoked. If the tube is already paused, sets a new end.',
  flags: {
    until: {
      value: 'TIME',
      help: 'resume automatically at this time: 2026-12-24T18:00:00Z, or relative to now, such as 2h',
    },
  },
  status: '0 paused; 1 Redis unreachable',
  examples: ['nest-dq pause mail.welcome --until 2h', 'nest-dq pause mail.welcome --json'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const until = args.instant('until', runtime.now());
    const found = await runtime.control.pause(tube, { by: operator(), until });
    const end = found.until === undefined ? 'it is resumed' : instant(found.until, runtime.now());
    return { json: { tube, ...found }, text: `${tube}: paused until ${end}${doubt(found.unknown)}` };
  },
});

export const resume = clusterCommand({
  name: 'resume',
  operands,
  summary: 'Resume a paused tube, so that its due jobs run.',
  about: 'Takes effect in all processes within a second.',
  flags: {},
  status: '0 resumed, or was not paused; 1 Redis unreachable',
  examples: ['nest-dq resume mail.welcome'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const { ended, unknown } = await runtime.control.resume(tube, { by: operator() });
    const since = ended && distance(ended.since.getTime() - runtime.now());
    const text = `${tube}: ${ended ? `resumed; it was paused ${since}` : 'was not paused'}${doubt(unknown)}`;
    return { json: { tube, ended: ended ?? null, unknown }, text };
  },
});
