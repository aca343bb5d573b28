import { type Cell, column, counted, distance, grouped, table } from 'nest-handlers/cli';
import type { DeadGroup } from '../operate/dead-view.js';
import { clusterCommand } from './cluster.js';
import { LETTER_FLAGS, letterFilter } from './letter-flags.js';
import { unknownAnswer } from './unknown-tube.js';

/** Tubes named in a row of a narrow terminal. */
const NAMED = 2;

export const deadGroups = clusterCommand({
  name: 'dead groups',
  operands: ['[TUBE]'],
  summary: 'Group the dead letters of all tubes, or of one, by their errors.',
  about:
    'Numbers, ids and quoted strings of an error are shown as …. Pass a group to dead revive-many or dead discard-many as --group.',
  flags: {
    ...LETTER_FLAGS,
    limit: {
      value: 'N',
      help: 'max number of letters looked at, the newest (default 10000, at most 100000)',
    },
  },
  status: '0 grouped; 1 unknown tube, or a server is unreachable',
  examples: ['nest-dq dead groups', 'nest-dq dead groups order.cancel --from -1d --json'],
  async run(args, { runtime }) {
    const now = runtime.now();
    const tube = args.operand('TUBE');
    const found = await runtime.inspector.deadGroups({
      tube,
      ...letterFilter(args, now),
      limit: args.count('limit', 1, 100_000),
    });
    const isEmpty = found.letters === 0 && tube !== undefined;
    const unknown = isEmpty ? await unknownAnswer(runtime.inspector, tube, found) : undefined;
    if (unknown) return unknown;
    const ago = (time: Date) => distance(time.getTime() - now);
    const rows = found.groups.map(({ letters, tubes, first, last, group }) => [
      letters,
      tubesCell(tubes),
      ago(first),
      ago(last),
      group,
    ]);
    const total = `${counted(found.letters, 'dead letter', 'dead letters')} in ${counted(rows.length + found.others, 'group', 'groups')}`;
    const head = [
      'LETTERS',
      'TUBES',
      column('time', 'FIRST'),
      column('time', 'LAST'),
      column('reason', 'GROUP'),
    ];
    const lines = [
      ...(rows.length === 0 ? ['no dead letters'] : [table(head, rows), total]),
      ...(found.others > 0 ? [`not shown: the ${grouped(found.others)} smallest groups`] : []),
      ...(found.more ? ['there are older letters: look at more with --limit'] : []),
      ...(found.away.length > 0
        ? [`down, so tubes that only they have are missing: ${found.away.join(', ')}`]
        : []),
    ];
    return { json: found, text: lines, status: found.away.length > 0 ? 1 : 0 };
  },
});

function tubesCell(tubes: DeadGroup['tubes']): Cell {
  const names = tubes.map(({ tube }) => tube);
  const text = names.join(', ');
  const more = names.length - NAMED;
  return more > 0 ? { text, shorter: [`${names.slice(0, NAMED).join(', ')} and ${more} more`] } : text;
}
