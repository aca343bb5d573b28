import { confirmed, counted, type Answer, type Arguments, type Flags } from 'nest-handlers/cli';
import type {
  KqDeadLetterFilter,
  KqDeadLetterRef,
  KqDeadLettersResult,
} from '../dead-letters/kq-dead-letters.js';
import { clusterCommand } from './cluster.js';
import { missingFact, showLetter } from './dead.js';
import { FILTER_FLAGS, PLACE_FLAGS, filterOf, placeOf } from './letter-flags.js';

const operands = ['TOPIC'];
const ACT_FLAGS: Flags = {
  ...PLACE_FLAGS,
  ...FILTER_FLAGS,
  limit: { value: 'N', help: 'max number of letters, the oldest of each partition first' },
  'dry-run': { help: 'only show the count and some examples' },
  yes: { help: 'skip confirmation; required without a terminal' },
};
const ABOUT =
  'Acts on one letter, given by --partition and --offset, or on all that match the filter; without a filter, on all of\nthem. Shows the count first and asks for confirmation.';
const STATUS = '0 done; 1 not done, partly failed, or no broker reachable';

const GROUPS = ['all', 'failed'] as const;

export const deadReplay = clusterCommand({
  name: 'dead replay',
  operands,
  summary: 'Store the messages of dead letters in their topics again.',
  about: ABOUT,
  flags: {
    groups: {
      value: 'WHICH',
      help: "groups that handle them again: all (default), or failed: of nest-kq's groups,\nonly the one that failed to handle the message",
    },
    ...ACT_FLAGS,
  },
  status: STATUS,
  examples: [
    'nest-kq dead replay orders.dead --error ETIMEDOUT --from -1d --dry-run',
    'nest-kq dead replay orders.dead --partition 0 --offset 12 --groups failed --yes',
  ],
  run(args, { deadLetters }) {
    const groups = args.oneOf('groups', GROUPS);
    return act(args, 'replay', (topic, which, options) =>
      deadLetters.replay(topic, which, { ...options, ...(groups && { groups }) }),
    );
  },
});

export const deadDiscard = clusterCommand({
  name: 'dead discard',
  operands,
  summary: 'Discard dead letters for good.',
  about: ABOUT,
  flags: ACT_FLAGS,
  status: STATUS,
  examples: ['nest-kq dead discard orders.dead --to -7d --dry-run --json'],
  run(args, { deadLetters }) {
    return act(args, 'discard', (topic, which, options) => deadLetters.discard(topic, which, options));
  },
});

type Start = (
  topic: string,
  which: KqDeadLetterRef | KqDeadLetterFilter,
  options: { readonly dryRun: boolean; readonly limit?: number },
) => Promise<KqDeadLettersResult>;

/** Counts, asks for confirmation, then acts. */
async function act(args: Arguments, verb: string, start: Start): Promise<Answer> {
  const topic = args.required('TOPIC');
  const place = placeOf(args);
  const filter = filterOf(args);
  if (place && Object.keys(filter).length > 0)
    throw args.wrong('expected either --partition and --offset, or a filter, not both.');
  const limit = args.count('limit', 1, Number.MAX_SAFE_INTEGER);
  const run = (dryRun: boolean) =>
    start(topic, place ?? filter, { dryRun, ...(limit !== undefined && { limit }) });
  const asked = process.stdin.isTTY && process.stderr.isTTY;
  const isDry = args.has('dry-run');
  if (isDry || !args.has('yes')) {
    const found = await run(true);
    const what = `${verb} ${counted(found.count, 'dead letter')} of ${topic}`;
    const missing = found.leaderless ? `, ${missingFact(topic, found.leaderless)}` : '';
    if (isDry || !asked) return dryAnswer(found, what + missing, isDry);
    if (found.count > 0 && !(await confirmed(args, what + missing)))
      return { json: { count: 0, failed: 0, failures: [] }, text: 'nothing was done', status: 1 };
  }
  return answer(topic, await run(false), place !== undefined);
}

function dryAnswer(
  { count, examples, leaderless }: KqDeadLettersResult,
  what: string,
  isDry: boolean,
): Answer {
  const lines = examples.map((letter) => `  ${showLetter(letter)}`);
  const more = count > lines.length && lines.length > 0 ? ['  …'] : [];
  const hint = isDry ? [] : ['nothing was done: expected --yes, since there is no terminal to confirm on'];
  return {
    json: { dryRun: true, count, examples, leaderless },
    text: [`would ${what}`, ...lines, ...more, ...hint],
    status: isDry && !leaderless ? 0 : 1,
  };
}

function answer(
  topic: string,
  { count, failed, failures, leaderless }: KqDeadLettersResult,
  isOne: boolean,
): Answer {
  const told = failures.map(({ error, ...place }) => ({ ...place, error: error.message }));
  const lines = told.map(({ partition, offset, error }) => `  ${partition}/${offset}: ${error}`);
  const left = leaderless ? [missingFact(topic, leaderless)] : [];
  const missing = isOne && count + failed === 0;
  return {
    json: { count, failed, failures: told, leaderless },
    text: missing
      ? 'not a dead letter, or already replayed or discarded'
      : [`${count} done, ${failed} failed`, ...lines, ...left],
    status: failed > 0 || missing || leaderless ? 1 : 0,
  };
}
