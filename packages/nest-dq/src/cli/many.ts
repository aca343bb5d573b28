import { type Arguments, type Flags, instant, rangeOf } from 'nest-handlers/cli';
import type { JobView } from '../api/job.js';
import type { WaitingFilter } from '../operate/waiting-filter.js';
import type { BulkOptions, BulkProgress, MoveExample } from '../operate/bulk.js';
import { MOST_PER_MINUTE } from '../operate/spread.js';
import { actOnMany, BULK_FLAGS, BULK_STATUS, limitOf } from './bulk.js';
import { checkFuture } from './future.js';
import { clusterCommand } from './cluster.js';

const STATES = ['waiting', 'retrying'] as const;
const FILTER_FLAGS: Flags = {
  from: {
    value: 'TIME',
    help: 'due at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
  },
  to: { value: 'TIME', help: 'due before this time' },
  state: { value: 'STATE', values: STATES, help: `only jobs in this state: ${STATES.join(', ')}` },
};
const ABOUT =
  'Without a filter, acts on all of them. Shows the count first and asks for confirmation. Finds only jobs in the index.';
const operands = ['TUBE'];

export const revokeMany = clusterCommand({
  name: 'revoke-many',
  writes: true,
  operands,
  summary: 'Revoke many waiting jobs of a tube, and delete their copies.',
  about: ABOUT,
  flags: { ...FILTER_FLAGS, ...BULK_FLAGS },
  status: BULK_STATUS,
  examples: [
    'nest-dq revoke-many order.cancel --to 15m --dry-run',
    'nest-dq revoke-many order.cancel --state retrying --yes --json',
  ],
  run(args, connected) {
    const { runtime } = connected;
    const tube = args.required('TUBE');
    const now = runtime.now();
    const filter = filterOf(args, now);
    const act = {
      verb: 'revoke',
      ...named(tube, now),
      start: (options: BulkOptions) => runtime.control.revokeMany(tube, filter, options),
    };
    return actOnMany<JobView>(args, connected, act, tube);
  },
});

export const moveMany = clusterCommand({
  name: 'move-many',
  writes: true,
  operands,
  summary: 'Move many waiting jobs of a tube to another time. Resets their attempts.',
  about: ABOUT,
  flags: {
    at: {
      value: 'TIME',
      help: 'move all to this time: 2026-12-24T18:00:00Z, or relative to now, such as 15m',
    },
    later: { value: 'TIME', help: 'move each later by this duration, such as 1h' },
    earlier: { value: 'TIME', help: 'move each earlier by this duration; past times become now' },
    spread: {
      value: 'TIME',
      help: 'spread them evenly over this duration, from the first due time or now; none gets earlier',
    },
    'per-minute': { value: 'N', help: 'spread them the same way, N a minute' },
    ...FILTER_FLAGS,
    ...BULK_FLAGS,
  },
  status: BULK_STATUS,
  examples: [
    'nest-dq move-many order.cancel --later 1h --dry-run',
    'nest-dq move-many order.cancel --from 1h --to 65m --spread 30m --dry-run',
    'nest-dq move-many order.cancel --to 30m --at 2h --yes --json 2> progress.log',
  ],
  run(args, connected) {
    const { runtime } = connected;
    const tube = args.required('TUBE');
    const now = runtime.now();
    const filter = filterOf(args, now);
    const [at, later, earlier] = [args.instant('at', now), args.duration('later'), args.duration('earlier')];
    const [spread, perMinute] = [args.duration('spread'), args.count('per-minute', 1, MOST_PER_MINUTE)];
    const times = [
      at,
      later === undefined ? undefined : { later },
      earlier === undefined ? undefined : { earlier },
      spread === undefined ? undefined : { spread },
      perMinute === undefined ? undefined : { perMinute },
    ];
    const [when, ...more] = times.filter((time) => time !== undefined);
    if (when === undefined || more.length > 0)
      throw args.wrong(
        `expected one of --at, --later, --earlier, --spread and --per-minute, got ${when ? more.length + 1 : 0}.`,
      );
    if (at) checkFuture(args, 'at', at, now, '`--at 0s` moves them to now');
    let span: BulkProgress<MoveExample>['spread'];
    const start = async function* (options: BulkOptions) {
      for await (const progress of runtime.control.rescheduleMany(tube, filter, when, options)) {
        span = progress.spread;
        yield progress;
      }
    };
    const reach = () => (span ? `, to ${instant(span.from, now)} up to ${instant(span.to, now)}` : '');
    const isSpread = spread !== undefined || perMinute !== undefined;
    const act = {
      verb: 'move',
      ...named(tube, now),
      ...(isSpread && { show: moved(now) }),
      start,
      more: reach,
    };
    return actOnMany<MoveExample>(args, connected, act, tube);
  },
});

function filterOf(args: Arguments, now: number): WaitingFilter {
  const { from: dueFrom, to: dueTo } = rangeOf(args, now);
  return {
    dueFrom,
    dueTo,
    state: args.oneOf('state', STATES),
    limit: limitOf(args),
  };
}

function named(tube: string, now: number) {
  return {
    one: `waiting job of ${tube}`,
    many: `waiting jobs of ${tube}`,
    show: ({ id, key, state, dueAt }: JobView) => `${key ?? id}  ${state}, due ${instant(dueAt, now)}`,
  };
}

/** Formats a job with its new time. */
export function moved(now: number): (job: MoveExample) => string {
  return ({ id, key, dueAt, movesTo }) => `${key ?? id}  ${instant(dueAt, now)} → ${instant(movesTo, now)}`;
}
