import { type Arguments, distance, instant } from 'nest-handlers/cli';
import type { BulkOptions, MoveExample } from '../operate/bulk.js';
import { MOST_PER_MINUTE } from '../operate/spread.js';
import { ACT_FLAGS, actOnMany } from './bulk.js';
import { moved } from './many.js';
import { checkFuture } from './future.js';
import { refusedUnknown, unknownAnswer } from './unknown-tube.js';
import { clusterCommand, type Connected } from './cluster.js';
import { operator } from './operator.js';

const operands = ['TUBE'];

async function resumeGradually(args: Arguments, connected: Connected, tube: string, perMinute: number) {
  const { control, now } = { control: connected.runtime.control, now: connected.runtime.now() };
  let end: Date | undefined;
  const start = async function* (options: BulkOptions) {
    for await (const progress of control.resumeGradually(tube, { perMinute }, options)) {
      end = progress.spread?.to;
      yield progress;
    }
  };
  const act = {
    verb: 'spread',
    one: `overdue job of ${tube}`,
    many: `overdue jobs of ${tube}`,
    start,
    show: moved(now),
    evenIfNone: true,
    /** Known once the jobs are counted. */
    more: () => (end ? `, caught up at ${instant(end, now)}, and resume it` : ', and resume it'),
  };
  return actOnMany<MoveExample>(args, connected, act, tube);
}

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
    if (until) checkFuture(args, 'until', until, runtime.now(), '`nest-dq resume` ends a pause');
    const left = { text: 'not paused', json: { paused: false } };
    const refused = await refusedUnknown(args, runtime.inspector, tube, 'pause', left);
    if (refused) return refused;
    const found = await runtime.control.pause(tube, { by: operator(), until });
    const end = found.until === undefined ? 'it is resumed' : instant(found.until, runtime.now());
    return { json: { tube, ...found }, text: `${tube}: paused until ${end}` };
  },
});

export const resume = clusterCommand({
  name: 'resume',
  acts: true,
  writes: (args) => args.has('per-minute'),
  operands,
  summary: 'Resume a paused tube, so that its due jobs run.',
  about:
    'Takes effect in all processes within a second. With --per-minute, first spreads the overdue jobs from now on, which\n' +
    'resets their attempts, and asks for confirmation; if that is interrupted, the tube stays paused.',
  flags: {
    'per-minute': { value: 'N', help: 'run the overdue jobs gradually, N a minute' },
    ...ACT_FLAGS,
  },
  status:
    '0 resumed, or was not paused; 1 not resumed, partly failed, unknown tube, or a node is unreachable; 2 Redis unusable',
  examples: ['nest-dq resume mail.welcome', 'nest-dq resume mail.welcome --per-minute 600 --dry-run'],
  async run(args, connected) {
    const { runtime } = connected;
    const tube = args.required('TUBE');
    const perMinute = args.count('per-minute', 1, MOST_PER_MINUTE);
    if (perMinute !== undefined) return resumeGradually(args, connected, tube, perMinute);
    const unused = Object.keys(ACT_FLAGS).find((flag) => flag !== 'yes' && args.has(flag));
    if (unused !== undefined) throw args.wrong(`--${unused} needs --per-minute.`);
    const { ended, unknown } = await runtime.control.resume(tube, { by: operator() });
    const json = { tube, ended: ended ?? null, unknown };
    const wrong = unknown && (await unknownAnswer(runtime.inspector, tube, json));
    const since = ended && distance(ended.since.getTime() - runtime.now());
    const text = `${tube}: ${ended ? `resumed; it was paused ${since}` : 'was not paused'}`;
    return { json, ...wrong, text, status: unknown ? 1 : 0 };
  },
});
