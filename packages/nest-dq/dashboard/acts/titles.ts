import type { BulkProgressWire, LetterFilterWire, WaitingFilterWire } from '../../src/dashboard/wire.js';
import type { BulkAct } from '../server/requests.js';
import { now } from '../state/live.js';
import { t } from '../words/language.js';
import { count, time } from '../words/say.js';
import type { WordKey } from '../words/words.js';

/** A job overdue for less is due now. */
const NOW_MS = 60_000;

type Filter = WaitingFilterWire & LetterFilterWire & { readonly from?: string; readonly to?: string };
type Found = Pick<BulkProgressWire, 'earliest' | 'latest'>;

/** Name of an act for words: a spread is a reschedule with words of its own. */
export function wordOf(act: BulkAct): BulkAct['name'] | 'spread' {
  if (act.name !== 'rescheduleMany') return act.name;
  return 'spread' in act.body.when || 'perMinute' in act.body.when ? 'spread' : act.name;
}

/**
 * Title of an act with its number, tube and range, as in `Revoke 800 waiting jobs of trial.expire, due now to Dec 26, 18:00`.
 * @param meant How many are changed; undefined while that is unknown.
 * @param found What was counted.
 */
export function titleOf(acts: readonly BulkAct[], meant?: number, found: Found = {}): string {
  const { name, body } = acts[0]!;
  const filter: Filter = 'filter' in body ? body.filter : {};
  const parts = [whereOf(acts, whatOf(name, filter, meant)), rangeOf(name, filter, found)];
  if (filter.why) parts.push(t(`died.${filter.why}`));
  if (filter.error) parts.push(t('title.error', { error: filter.error }));
  if (filter.group) parts.push(t('title.group', { group: filter.group }));
  const what = parts.filter((part) => part !== undefined).join(t('title.comma'));
  return t(`title.${wordOf(acts[0]!)}`, { what });
}

function whatOf(name: BulkAct['name'], { state }: Filter, meant: number | undefined): string {
  const isLetter = !['revokeMany', 'rescheduleMany', 'resumeGradually', 'repair'].includes(name);
  const kind = isLetter ? 'letters' : state === 'retrying' ? 'retries' : 'jobs';
  const number = meant === undefined ? 'some' : meant === 1 ? 'one' : 'many';
  return t(`title.${kind}.${number}`, { count: count(meant) });
}

/** The tube, or the topic of Kafka, of the acts; where it is one of them, its name. */
function whereOf(acts: readonly BulkAct[], what: string): string {
  const { body } = acts[0]!;
  if (acts.length > 1) return t('title.ofTubes', { what, tubes: count(acts.length) });
  const place = 'topic' in body ? body.topic : body.tube;
  return place === undefined ? what : t('title.of', { what, tube: place });
}

function rangeOf(name: BulkAct['name'], filter: Filter, { earliest, latest }: Found): string | undefined {
  const isDue = name === 'revokeMany' || name === 'rescheduleMany' || name === 'resumeGradually';
  const from = earliest ?? filter.dueFrom ?? filter.diedFrom ?? filter.from;
  const to = latest ?? filter.dueTo ?? filter.diedTo ?? filter.to;
  const [first, last] = [momentOf(from, isDue), momentOf(to, isDue)];
  const word = (range: 'at' | 'from' | 'to' | 'span', values: Record<string, string>) =>
    t(`title.${isDue ? 'due' : 'died'}.${range}` as WordKey, values);
  if (first === undefined) return last === undefined ? undefined : word('to', { to: last });
  if (last === undefined) return word('from', { from: first });
  return first === last ? word('at', { from: first }) : word('span', { from: first, to: last });
}

function momentOf(iso: string | undefined, isDue: boolean): string | undefined {
  if (iso === undefined) return undefined;
  const at = Date.parse(iso);
  const overdueFor = now.peek() - at;
  return isDue && overdueFor >= 0 && overdueFor < NOW_MS ? t('time.now') : time(at);
}
