import { distance, instant } from 'nest-handlers/cli';
import { note } from './process.js';
import { unknownTube, warnedOfUnknown } from './unknown-tube.js';
import { clusterCommand } from './cluster.js';
import { operator } from './operator.js';

const operands = ['TUBE'];

export const pause = clusterCommand({
  name: 'pause',
  acts: true,
  operands,
  summary: 'Pause a tube: no process starts a run until it is resumed.',
  about:
    'Started runs continue, and jobs can still be added, moved and revoked. If the tube is already paused, sets a new end.',
  flags: {
    until: {
      value: 'TIME',
      help: 'resume automatically at this time: 2026-12-24T18:00:00Z, or relative to now, such as 2h',
    },
    force: { help: 'also pause a tube that nobody knows yet, such as one that the next deploy adds' },
  },
  status: '0 paused; 1 unknown tube, not paused; 2 Redis unusable',
  examples: ['nest-dq pause mail.welcome --until 2h', 'nest-dq pause mail.welcome --json'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const until = args.instant('until', runtime.now());
    const unknown = args.has('force') ? undefined : await unknownTube(runtime.inspector, tube);
    if (unknown) {
      note(`${unknown.text} To pause it in advance: --force`);
      const { similar } = unknown;
      return {
        json: { tube, paused: false, unknown: true, similar },
        text: `${tube}: not paused`,
        status: 1,
      };
    }
    const found = await runtime.control.pause(tube, { by: operator(), until });
    const end = found.until === undefined ? 'it is resumed' : instant(found.until, runtime.now());
    return { json: { tube, ...found }, text: `${tube}: paused until ${end}` };
  },
});

export const resume = clusterCommand({
  name: 'resume',
  acts: true,
  operands,
  summary: 'Resume a paused tube, so that its due jobs run.',
  about: 'Takes effect in all processes within a second.',
  flags: {},
  status: '0 resumed, or was not paused; 1 unknown tube; 2 Redis unusable',
  examples: ['nest-dq resume mail.welcome'],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const { ended, unknown } = await runtime.control.resume(tube, { by: operator() });
    const since = ended && distance(ended.since.getTime() - runtime.now());
    if (unknown) await warnedOfUnknown(runtime.inspector, tube);
    const text = `${tube}: ${ended ? `resumed; it was paused ${since}` : 'was not paused'}`;
    return { json: { tube, ended: ended ?? null, unknown }, text, status: unknown ? 1 : 0 };
  },
});
