import { column, facts, instant, recentCell, table } from 'nest-handlers/cli';
import type { DeadLetter } from '../api/dead-letter.js';
import type { DqDeadLetters } from '../producer/dead-letters.js';
import { checkLetterFilter, type DeadLetterFilter } from '../operate/letter-filter.js';
import { clusterCommand } from './cluster.js';
import { PAGE_FLAGS, pageOf } from './page-flags.js';
import { actOnOne } from './jobs.js';
import { GROUP_FLAGS, groupFilter } from './letter-flags.js';
import { foundReference, REFERENCE_FLAGS, showReference } from './references.js';
import { unknownAnswer, warnedOfUnknown } from './unknown-tube.js';

const operands = ['[REF]'];

export const deadList = clusterCommand({
  name: 'dead list',
  operands: ['TUBE'],
  summary: 'List the dead letters of a tube, newest first.',
  about: 'With --json, also prints payloads, stacks and references, and a cursor if there are more.',
  flags: {
    ...GROUP_FLAGS,
    ...PAGE_FLAGS,
  },
  status: '0 listed; 1 unknown tube, or a node is unreachable; 2 Redis unusable',
  examples: [
    'nest-dq dead list order.cancel',
    'nest-dq dead list order.cancel --error ETIMEDOUT --from -1d',
    'nest-dq dead list order.cancel --limit 5 --json',
  ],
  async run(args, { runtime }) {
    const { deadLetters, inspector } = runtime;
    const tube = args.required('TUBE');
    const now = runtime.now();
    const { limit = 50, cursor } = pageOf(args);
    const page = await matchingLetters(deadLetters, tube, {
      filter: groupFilter(args, now),
      limit,
      cursor,
    });
    const unknown = page.letters.length === 0 ? await unknownAnswer(inspector, tube, page) : undefined;
    if (unknown) return unknown;
    const rows = page.letters.map(({ id, key, diedAt, attempt, why, error, missingKey }) => [
      key ?? id,
      recentCell(diedAt, now),
      attempt,
      why,
      firstLine(missingKey === undefined ? (error?.message ?? '') : `needs the key "${missingKey}"`),
    ]);
    const head = ['KEY OR ID', column('time', 'DIED'), 'RUNS', 'WHY', column('reason', 'ERROR')];
    const none = page.cursor === undefined ? 'no dead letters' : 'no dead letters on this page';
    const lines = [
      rows.length === 0 ? none : table(head, rows),
      ...(page.cursor === undefined ? [] : [`… and more: --cursor ${page.cursor}`]),
    ];
    return { json: page, text: lines };
  },
});

/** Letters looked at per page: each costs a call to a node, since its key is in its copies. */
const MAX_LOOKED_AT = 5_000;

/** Resolves with a page of the letters that match the filter, newest first. */
async function matchingLetters(
  deadLetters: DqDeadLetters,
  tube: string,
  { filter, limit, cursor: start }: { filter: DeadLetterFilter; limit: number; cursor: string | undefined },
): Promise<{ letters: DeadLetter[]; cursor?: string }> {
  const { diedFrom, matches } = checkLetterFilter(filter);
  const letters: DeadLetter[] = [];
  let cursor = start;
  let looked = 0;
  do {
    const page = await deadLetters.list(tube, { limit: limit - letters.length, cursor });
    const isMeant = ({ diedAt, why, error }: DeadLetter) => matches({ died: diedAt.getTime(), why, error });
    letters.push(...page.letters.filter(isMeant));
    looked += page.letters.length;
    // The newest come first, so no later one matches the filter.
    const isOver = page.letters.some(({ diedAt }) => diedAt.getTime() < diedFrom);
    cursor = isOver ? undefined : page.cursor;
  } while (cursor !== undefined && letters.length < limit && looked < MAX_LOOKED_AT);
  return { letters, ...(cursor !== undefined && { cursor }) };
}

export const deadShow = clusterCommand({
  name: 'dead show',
  operands,
  summary: 'Show a dead letter, with its payload and its last error.',
  about: 'Instead of a reference, REF may be the key or id of a job, which is looked for in all tubes.',
  flags: REFERENCE_FLAGS,
  status: '0 found; 1 not a dead letter; 2 Redis unusable',
  examples: ['nest-dq dead show --tube order.cancel --key order-13'],
  async run(args, { runtime }) {
    const ref = await foundReference(args, runtime.inspector);
    const letter = ref && (await runtime.deadLetters.get(ref));
    if (!letter) {
      const tube = args.text('tube', 'the name of a tube');
      if (tube !== undefined) await warnedOfUnknown(runtime.inspector, tube);
      return { json: null, text: `${showReference(args)} is not a dead letter`, status: 1 };
    }
    return { json: letter, text: showLetter(letter, runtime.now()) };
  },
});

export const deadRevive = clusterCommand({
  name: 'dead revive',
  writes: true,
  operands,
  summary: 'Run a dead letter again, with its attempts reset.',
  flags: {
    ...REFERENCE_FLAGS,
    delay: { value: 'TIME', help: 'delay before it runs, such as 15m (default: none)' },
  },
  status: "0 revived; 1 not revived (prints the job's state, or what is unreachable); 2 Redis unusable",
  examples: ['nest-dq dead revive --tube order.cancel --key order-13 --delay 10m'],
  run(args, { runtime }) {
    const delay = args.duration('delay');
    return actOnOne(args, runtime, 'revive', 'revived', (ref) => runtime.deadLetters.revive(ref, { delay }));
  },
});

export const deadDiscard = clusterCommand({
  name: 'dead discard',
  writes: true,
  operands,
  summary: 'Discard a dead letter for good, and delete its copies.',
  flags: REFERENCE_FLAGS,
  status: "0 discarded; 1 not discarded (prints the job's state, or what is unreachable); 2 Redis unusable",
  examples: ['nest-dq dead discard --tube order.cancel --key order-13'],
  run(args, { runtime }) {
    return actOnOne(args, runtime, 'discard', 'discarded', (ref) => runtime.deadLetters.discard(ref));
  },
});

function showLetter(letter: DeadLetter, now: number): string[] {
  const { tube, key, id, why, attempt, dueAt, diedAt, payload, encoded, error, ref } = letter;
  return facts({
    tube,
    key,
    id,
    why,
    died: instant(diedAt, now),
    due: instant(dueAt, now),
    runs: String(attempt),
    payload: payload === undefined && !encoded ? whyNoPayload(letter) : JSON.stringify(encoded ?? payload),
    // The stack of a `Discard` only shows where it was created.
    error: (why === 'discarded' ? error?.message : (error?.stack ?? error?.message))?.split('\n'),
    ref,
  });
}

export function whyNoPayload({ missingKey }: Pick<DeadLetter, 'missingKey'>): string {
  return missingKey === undefined
    ? 'no reachable copy'
    : `sealed with the key "${missingKey}", which this command does not have`;
}

function firstLine(text: string): string {
  return text.split('\n')[0]!;
}
