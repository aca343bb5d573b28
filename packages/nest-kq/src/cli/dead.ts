import { column, distance, facts, instant, table } from 'nest-handlers/cli';
import { systemClock } from 'nest-handlers/time';
import type { KqDeadLetter, KqDeadLetterSummary } from '../dead-letters/kq-dead-letters.js';
import { leaderlessFact } from '../driver/known-ends.js';
import { clusterCommand } from './cluster.js';
import { FILTER_FLAGS, PLACE_FLAGS, filterOf, placeOf } from './letter-flags.js';

const operands = ['TOPIC'];
/** Max characters of a string in a column. */
const SHORT = 48;

export const deadTopics = clusterCommand({
  name: 'dead topics',
  operands: [],
  summary: 'List the dead-letter topics created by nest-kq.',
  about: 'Excludes dead-letter topics that handlers name themselves.',
  flags: {},
  status: '0 listed; 1 no broker reachable',
  examples: ['nest-kq dead topics --brokers localhost:9092'],
  async run(_, { deadLetters }) {
    const topics = await deadLetters.topics();
    return { json: topics, text: topics.length === 0 ? 'no dead-letter topics' : topics };
  },
});

export const deadList = clusterCommand({
  name: 'dead list',
  operands,
  summary: "List a topic's dead letters that are neither replayed nor discarded, newest first.",
  about: 'TOPIC is the dead-letter topic, such as orders.dead.',
  flags: {
    ...FILTER_FLAGS,
    limit: { value: 'N', help: 'max number shown (default 50, at most 1000)' },
    cursor: { value: 'CURSOR', help: 'continue where the previous page ended' },
  },
  status: '0 listed; 1 not all listed, no broker reachable, or no such topic',
  examples: [
    'nest-kq dead list orders.dead --brokers localhost:9092',
    'nest-kq dead list orders.dead --error ETIMEDOUT --from -1d --json',
  ],
  async run(args, { deadLetters }) {
    const limit = args.count('limit', 1, 1_000);
    const cursor = args.text('cursor', 'the cursor of the previous page');
    const topic = args.required('TOPIC');
    const page = await deadLetters.list(topic, {
      filter: filterOf(args),
      ...(limit !== undefined && { limit }),
      ...(cursor !== undefined && { cursor }),
    });
    const now = systemClock.wall();
    const head = [
      'PARTITION',
      'OFFSET',
      column('time', 'DIED'),
      'ORIGIN',
      'GROUP',
      'KEY',
      column('reason', 'ERROR'),
    ];
    const rows = page.letters.map(({ partition, offset, diedAt, origin, group, key, error }) => [
      String(partition),
      offset,
      distance(diedAt.getTime() - now),
      origin.topic,
      group ?? '',
      key ?? '',
      `${error.name}: ${error.message}`,
    ]);
    const none = page.cursor === undefined ? 'no dead letters' : 'no dead letters on this page';
    const lines = [
      rows.length === 0 ? none : table(head, rows),
      ...(page.leaderless ? [missingFact(topic, page.leaderless)] : []),
      ...(page.cursor === undefined ? [] : [`… and more: --cursor ${page.cursor}`]),
    ];
    return { json: page, text: lines, status: page.leaderless ? 1 : 0 };
  },
});

export const deadShow = clusterCommand({
  name: 'dead show',
  operands,
  summary: 'Show a dead letter, with its value and its error.',
  flags: PLACE_FLAGS,
  status: '0 found; 1 no such letter or no broker reachable',
  examples: ['nest-kq dead show orders.dead --partition 0 --offset 12'],
  async run(args, { deadLetters }) {
    const place = placeOf(args);
    if (!place) throw args.wrong('expected --partition and --offset.');
    const letter = await deadLetters.get(args.required('TOPIC'), place);
    if (!letter) return { json: null, text: `${showPlace(place)} is not a dead letter`, status: 1 };
    return { json: asJson(letter), text: textOf(letter) };
  },
});

export function showPlace({
  partition,
  offset,
}: Pick<KqDeadLetterSummary, 'partition'> & { offset: unknown }) {
  return `partition ${partition}, offset ${String(offset)}`;
}

/** Returns a note that letters in these partitions are neither listed nor acted on. */
export function missingFact(topic: string, leaderless: readonly number[]): string {
  return `excluding partitions that cannot be read: ${leaderlessFact(topic, leaderless)}`;
}

/** Formats one line for people. */
export function showLetter({ partition, offset, key, error }: KqDeadLetterSummary): string {
  return `${partition}/${offset}  ${short(key ?? '')}  ${short(`${error.name}: ${error.message}`)}`;
}

function asJson({ value, headers, ...letter }: KqDeadLetter) {
  const text = value && textIn(value);
  return {
    ...letter,
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, each]) => [name, [each].flat().map(String)]),
    ),
    ...(text === undefined ? { valueBase64: value!.toString('base64') } : { value: text }),
  };
}

function textOf(letter: KqDeadLetter): string[] {
  const { partition, offset, origin, group, key, diedAt, why, attempts, error, value, headers, resolved } =
    letter;
  const from =
    origin.offset === undefined ? origin.topic : `${origin.topic}/${origin.partition} at ${origin.offset}`;
  const lines = Object.entries(headers).map(([name, each]) => [`header ${name}`, [each].flat().join(', ')]);
  const text = value && (textIn(value) ?? `${value.length} bytes, in base64: ${value.toString('base64')}`);
  return facts({
    place: showPlace({ partition, offset }),
    state: resolved ? 'replayed or discarded' : 'open',
    origin: from,
    group,
    key: key ?? undefined,
    died: instant(diedAt, systemClock.wall()),
    why,
    runs: attempts === undefined ? undefined : String(attempts),
    error: `${error.name}: ${error.message}`,
    stack: error.stack === '' ? undefined : error.stack.split('\n'),
    ...Object.fromEntries(lines as [string, string][]),
    value: text ?? 'a tombstone',
  });
}

/** Returns undefined if the bytes aren't UTF-8. */
function textIn(bytes: Buffer): string | undefined {
  const text = bytes.toString();
  return Buffer.from(text).equals(bytes) ? text : undefined;
}

function short(text: string): string {
  return text.length > SHORT ? `${text.slice(0, SHORT - 1)}…` : text;
}
