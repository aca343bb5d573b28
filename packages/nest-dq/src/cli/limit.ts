import { type Arguments, instant } from 'nest-handlers/cli';
import type { LimitOptions } from '../api/job.js';
import type { ChangedLimits, LimitSettings } from '../operate/tube-limits.js';
import { clusterCommand } from './cluster.js';
import { checkFuture } from './future.js';
import { operator } from './operator.js';
import { limitsText } from './tube-facts.js';
import { refusedUnknown } from './unknown-tube.js';

/** Greatest accepted number. */
const MOST = 1_000_000;

export const limit = clusterCommand({
  name: 'limit',
  acts: true,
  operands: ['TUBE'],
  summary: 'Change the limits of a tube while it runs.',
  about:
    'All processes apply them within 5s, until --until or --reset; a deploy does not end them. What is not given stays as the\n' +
    'handlers have it, and an earlier change is replaced as a whole. Started runs continue.',
  flags: {
    rate: { value: 'N', help: 'start at most N runs in each --per, across all processes' },
    per: { value: 'DURATION', help: 'the period of --rate (default 1s)' },
    burst: {
      value: 'N',
      help: 'with --rate: how many runs may start together after a quiet time (default 1)',
    },
    concurrency: { value: 'N', help: 'at most N runs at once, across all processes' },
    'per-group': { value: 'N', help: 'at most N runs at once of jobs with the same group' },
    'per-process': { value: 'N', help: 'at most N runs at once in each process' },
    until: { value: 'TIME', help: 'when this ends: 2026-12-24T18:00:00Z, or relative to now, such as 2h' },
    reset: { help: 'go back to the limits of the handlers' },
    force: { help: 'also limit a tube that nobody knows yet, such as one that the next deploy adds' },
  },
  status: '0 changed, or nothing to reset; 1 unknown tube, not changed; 2 Redis unusable',
  examples: [
    'nest-dq limit mail.welcome --rate 10 --until 2h',
    'nest-dq limit mail.welcome --concurrency 2 --per-process 1',
    'nest-dq limit mail.welcome --reset',
  ],
  async run(args, { runtime }) {
    const tube = args.required('TUBE');
    const now = runtime.now();
    const limits = limitsIn(args);
    if (args.has('reset')) {
      if (limits || args.instant('until', now)) throw args.wrong('--reset takes no limits and no --until.');
      const ended = await runtime.control.resetLimits(tube, { by: operator() });
      const text = ended ? `reset; it had ${changeText(ended, now)}` : 'had no changed limits';
      return { json: { tube, ended: ended ?? null }, text: `${tube}: ${text}` };
    }
    if (!limits)
      throw args.wrong('expected --rate, --concurrency, --per-group or --per-process; or --reset.');
    const until = args.instant('until', now);
    if (until) checkFuture(args, 'until', until, now, '--reset ends a change');
    const left = { text: 'not changed', json: { changed: false } };
    const refused = await refusedUnknown(args, runtime.inspector, tube, 'limit', left);
    if (refused) return refused;
    const changed = await runtime.control.setLimits(tube, limits, { by: operator(), until });
    return { json: { tube, ...changed }, text: `${tube}: ${changeText(changed, now)}` };
  },
});

function limitsIn(args: Arguments): LimitSettings | undefined {
  const count = (flag: string) => args.count(flag, 1, MOST);
  const [rate, burst, fleet, perGroup] = [
    count('rate'),
    count('burst'),
    count('concurrency'),
    count('per-group'),
  ];
  const [per, concurrency] = [args.duration('per'), count('per-process')];
  const stray = rate === undefined && Object.entries({ per, burst }).find(([, value]) => value !== undefined);
  if (stray) throw args.wrong(`--${stray[0]} needs --rate.`);
  const limit: LimitOptions = {
    ...(rate !== undefined && { rate }),
    ...(per !== undefined && { per }),
    ...(burst !== undefined && { burst }),
    ...(fleet !== undefined && { concurrency: fleet }),
    ...(perGroup !== undefined && { perGroup }),
  };
  const isLimited = Object.keys(limit).length > 0;
  if (!isLimited && concurrency === undefined) return undefined;
  return { ...(concurrency !== undefined && { concurrency }), ...(isLimited && { limit }) };
}

function changeText({ concurrency, limit, until }: ChangedLimits, now: number): string {
  const { concurrency: fleet, ...others } = limit ?? {};
  const parts = [
    ...(fleet === undefined ? [] : [`${fleet} at once`]),
    ...(concurrency === undefined ? [] : [`${concurrency} at once in each process`]),
  ];
  const text = [limitsText(others), ...parts].filter((part) => part !== '').join(', ');
  return `${text}, until ${until ? instant(until, now) : 'it is reset'}`;
}
