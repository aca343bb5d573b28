import type { Arguments } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DeadLetterFilter } from '../operate/letter-filter.js';
import type { BulkOptions } from '../operate/bulk.js';
import { actOnMany, BULK_FLAGS, BULK_STATUS, limitOf } from './bulk.js';
import { clusterCommand } from './cluster.js';
import { GROUP_FLAGS, groupFilter } from './letter-flags.js';

const operands = ['TUBE'];

export const deadReviveMany = clusterCommand({
  name: 'dead revive-many',
  writes: true,
  operands,
  summary: 'Run many dead letters of a tube again, with their attempts reset.',
  about: 'Without a filter, acts on all of them. Shows the count first and asks for confirmation.',
  flags: {
    ...GROUP_FLAGS,
    delay: { value: 'TIME', help: 'delay before they run, such as 15m (default: none)' },
    ...BULK_FLAGS,
  },
  status: BULK_STATUS,
  examples: [
    'nest-dq dead revive-many order.cancel --error ETIMEDOUT --from -1d --dry-run',
    'nest-dq dead revive-many order.cancel --why discarded --delay 10m --yes 2> progress.log',
  ],
  run(args, connected) {
    const { runtime } = connected;
    const tube = args.required('TUBE');
    const filter = filterOf(args, runtime.now());
    const delay = args.duration('delay');
    const act = {
      verb: 'revive',
      ...named(tube),
      start: (options: BulkOptions) => runtime.control.reviveMany(tube, filter, { ...options, delay }),
    };
    return actOnMany<DeadLetter>(args, connected, act, tube);
  },
});

export const deadDiscardMany = clusterCommand({
  name: 'dead discard-many',
  writes: true,
  operands,
  summary: 'Discard many dead letters of a tube for good, and delete their copies.',
  about: 'Without a filter, acts on all of them. Shows the count first and asks for confirmation.',
  flags: { ...GROUP_FLAGS, ...BULK_FLAGS },
  status: BULK_STATUS,
  examples: [
    'nest-dq dead discard-many order.cancel --to -7d --dry-run --json',
    'nest-dq dead discard-many order.cancel --why discarded --yes 2> progress.log',
  ],
  run(args, connected) {
    const { runtime } = connected;
    const tube = args.required('TUBE');
    const filter = filterOf(args, runtime.now());
    const act = {
      verb: 'discard',
      ...named(tube),
      start: (options: BulkOptions) => runtime.control.discardMany(tube, filter, options),
    };
    return actOnMany<DeadLetter>(args, connected, act, tube);
  },
});

function filterOf(args: Arguments, now: number): DeadLetterFilter {
  return { ...groupFilter(args, now), limit: limitOf(args) };
}

function named(tube: string) {
  return {
    one: `dead letter of ${tube}`,
    many: `dead letters of ${tube}`,
    show: ({ id, key, why, error }: DeadLetter) =>
      `${key ?? id}  ${why}  ${error?.message.split('\n')[0] ?? ''}`,
  };
}
