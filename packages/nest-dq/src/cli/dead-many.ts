import type { Arguments, Flags } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DeadLetterFilter } from '../operate/letter-filter.js';
import { actOnMany, BULK_FLAGS, BULK_STATUS, limitOf } from './bulk.js';
import { clusterCommand } from './cluster.js';

const WHYS = ['attempts', 'discarded', 'invalid', 'stale'] as const;
const FILTER_FLAGS: Flags = {
  from: {
    value: 'TIME',
    help: 'died at or after this time: 2026-12-24T18:00:00Z, or relative to now, such as -1h',
  },
  to: { value: 'TIME', help: 'died before this time' },
  why: { value: 'WHY', help: `cause of death: ${WHYS.join(', ')}` },
  error: { value: 'TEXT', help: 'error contains this string, in upper or lower case' },
  group: { value: 'GROUP', help: 'letters of a group, as nest-dq dead groups prints it' },
};
const operands = ['TUBE'];

export const deadReviveMany = clusterCommand({
  name: 'dead revive-many',
  writes: true,
  operands,
  summary: 'Run many dead letters of a tube again, with their attempts reset.',
  about: 'Without a filter, acts on all of them. Shows the count first and asks for confirmation.',
  flags: {
    ...FILTER_FLAGS,
    delay: { value: 'TIME', help: 'delay before they run, such as 15m (default: none)' },
    ...BULK_FLAGS,
  },
  status: BULK_STATUS,
  examples: [
    'nest-dq dead revive-many order.cancel --error ETIMEDOUT --from -1d --dry-run',
    'nest-dq dead revive-many order.cancel --why discarded --delay 10m --yes 2> progress.log',
  ],
  run(args, { runtime }) {
    const tube = args.required('TUBE');
    const filter = filterOf(args, runtime.now());
    const delay = args.duration('delay');
    return actOnMany<DeadLetter>(args, {
      verb: 'revive',
      ...named(tube),
      start: (options) => runtime.control.reviveMany(tube, filter, { ...options, delay }),
    });
  },
});

export const deadDiscardMany = clusterCommand({
  name: 'dead discard-many',
  writes: true,
  operands,
  summary: 'Discard many dead letters of a tube for good, and delete their copies.',
  about: 'Without a filter, acts on all of them. Shows the count first and asks for confirmation.',
  flags: { ...FILTER_FLAGS, ...BULK_FLAGS },
  status: BULK_STATUS,
  examples: [
    'nest-dq dead discard-many order.cancel --to -7d --dry-run --json',
    'nest-dq dead discard-many order.cancel --why discarded --yes 2> progress.log',
  ],
  run(args, { runtime }) {
    const tube = args.required('TUBE');
    const filter = filterOf(args, runtime.now());
    return actOnMany<DeadLetter>(args, {
      verb: 'discard',
      ...named(tube),
      start: (options) => runtime.control.discardMany(tube, filter, options),
    });
  },
});

function filterOf(args: Arguments, now: number): DeadLetterFilter {
  return {
    diedFrom: args.instant('from', now),
    diedTo: args.instant('to', now),
    why: args.oneOf('why', WHYS),
    error: args.text('error', 'a substring of the error'),
    group: args.text('group', 'a group of nest-dq dead groups'),
    limit: limitOf(args),
  };
}

function named(tube: string) {
  return {
    one: `dead letter of ${tube}`,
    many: `dead letters of ${tube}`,
    show: ({ id, key, why, error }: DeadLetter) =>
      `${key ?? id}  ${why}  ${error?.message.split('\n')[0] ?? ''}`,
  };
}
