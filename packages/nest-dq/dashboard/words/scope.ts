import { en, type WordKey } from './words.js';
import { t } from './language.js';
import { count, duration, time } from './say.js';

type Say = (value: unknown) => string;

const ofTime = (key: WordKey): Say => {
  return (value) => t(key, { time: typeof value === 'string' ? time(Date.parse(value)) : String(value) });
};
const ofName = (kind: string): Say => {
  return (value) => {
    const key = `${kind}.${String(value)}`;
    return Object.hasOwn(en, key) ? t(key as WordKey) : String(value);
  };
};
const ofText = (key: WordKey): Say => {
  return (value) => t(key, { text: typeof value === 'string' ? value : JSON.stringify(value) });
};
const ofNumber = (key: WordKey): Say => {
  return (value) => t(key, { number: count(Number(value)) });
};
/** Durations stand as they were given: ms, or a number with a unit. */
const ofDuration = (key: WordKey): Say => {
  return (value) => t(key, { duration: typeof value === 'number' ? duration(value) : String(value) });
};

const FILTER: Readonly<Record<string, Say>> = {
  state: ofName('state'),
  why: ofName('died'),
  dueFrom: ofTime('scope.dueFrom'),
  dueTo: ofTime('scope.dueTo'),
  diedFrom: ofTime('scope.diedFrom'),
  diedTo: ofTime('scope.diedTo'),
  from: ofTime('scope.diedFrom'),
  to: ofTime('scope.diedTo'),
  error: ofText('scope.error'),
  group: ofText('scope.group'),
  key: ofText('scope.key'),
  topic: ofText('scope.topic'),
  limit: ofNumber('scope.limit'),
};

const CHANGE: Readonly<Record<string, Say>> = {
  delay: ofDuration('scope.delay'),
  later: ofDuration('scope.later'),
  earlier: ofDuration('scope.earlier'),
  spread: ofDuration('scope.spread'),
  perMinute: ofNumber('scope.perMinute'),
};

/** Which jobs, or letters, an act on many was for: `due from 10:00, at most 3`. */
export function filterText(filter: object): string {
  return partsOf(filter, FILTER).join(', ') || t('scope.all');
}

/** The change made by an act on many: `1h later`. */
export function changeText(change: unknown): string {
  return typeof change === 'object' && change !== null
    ? partsOf(change, CHANGE).join(', ')
    : ofTime('scope.at')(change);
}

/** A field that this page doesn't know stands as the library has it. */
function partsOf(fields: object, known: Readonly<Record<string, Say>>): string[] {
  return Object.entries(fields).map(([name, value]) =>
    Object.hasOwn(known, name) ? known[name]!(value) : `${name} ${JSON.stringify(value)}`,
  );
}
