import type { Arguments, Flags } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import type { LetterFilter } from '../operate/letter-filter.js';
import { actOnMany, BULK_FLAGS, BULK_STATUS, limitOf } from './bulk.js';
import { clusterCommand } from './cluster.js';

const WHYS = ['attempts', 'discarded', 'invalid', 'stale'] as const;
const FILTER_FLAGS: Flags = {
  from: { value: 'TIME', help: 'died at this time or later: 2026-12-24T18:00:00Z, or from now, such as -1h' },
  to: { value: 'TIME', help: 'died before this time' },
  why: { value: 'WHY', help: `died of this: ${WHYS.join(', ')}` },
  error: { value: 'TEXT', help: 'their error has this text' },
};
const operands = ['TUBE'];

export const deadReviveMany = clusterCommand({
  name: 'dead revive-many',
  writes: true,
  operands,
  summary: 'Runs many dead letters of a tube again; their attempts begin anew.',
  about: 'Without a filter it means all. It counts them and asks before it begins.',
  flags: {
    ...FILTER_FLAGS,
    delay: { value: 'TIME', help: 'not now but later, such as 15m' },
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
  summary: 'Gives up many dead letters of a tube for good, and deletes their copies.',
  about: 'Without a filter it means all. It counts them and asks before it begins.',
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

function filterOf(args: Arguments, now: number): LetterFilter {
  return {
    diedFrom: args.instant('from', now),
    diedTo: args.instant('to', now),
    why: args.oneOf('why', WHYS),
    error: args.text('error', 'a part of the message'),
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
