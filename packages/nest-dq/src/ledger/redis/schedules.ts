import { formatPlaces, parsePlaces } from '../../copies/location.js';
import type {
  AbortAnswer,
  AbortRequest,
  CommitAnswer,
  CommitRequest,
  OpenAnswer,
  Opening,
  OpenRequest,
  OwedCopies,
  Refusal,
  RevokeAnswer,
  RevokeRequest,
  Schedule,
} from '../requests.js';
import { writeRunFields } from './runs.js';
import { entry, type ScriptArguments, type ScriptReply, type ScriptWire } from './script-wire.js';

const STATES: Readonly<Record<string, Schedule['state']>> = {
  w: 'waiting',
  r: 'running',
  d: 'done',
  v: 'revoked',
  x: 'dead',
};
const ABORT_ANSWERS: readonly AbortAnswer[] = ['aborted', 'started', 'full'];
const REVOKE_RESULTS = ['unknown', 'revoked', 'running', 'done', 'dead'] as const;

export const openWire: ScriptWire<OpenRequest, OpenAnswer> = {
  write(to, { id, opening, due, announced, known }) {
    to.job(id);
    writeOpening(to, opening);
    to.time(due);
    to.number(announced);
    to.optional(known?.generation);
    if (!known) return;
    to.number(known.born);
    to.time(known.due);
    writeOwed(to, known.owed);
    to.text(formatPlaces(known.places));
  },
  read(from) {
    const why = from.text();
    const present = readSchedule(from);
    const generation = from.number();
    return why === ''
      ? { kind: 'opened', generation, present }
      : { kind: 'refused', why: why as Refusal, present };
  },
};

export const commitWire: ScriptWire<CommitRequest, CommitAnswer> = {
  write(to, { id, opening, generation, born, due, announced, owed, places }) {
    to.job(id);
    writeOpening(to, opening);
    to.number(generation);
    to.number(born);
    to.time(due);
    to.number(announced);
    writeOwed(to, owed);
    to.text(formatPlaces(places));
  },
  read(from) {
    const why = from.text();
    const schedule = readSchedule(from);
    if (why === 'already') return { kind: 'committed', already: true };
    return why === ''
      ? { kind: 'committed', replaced: schedule }
      : { kind: 'refused', why: why as Refusal | 'overtaken', present: schedule };
  },
  usual: { kind: 'committed' },
};

export const abortWire: ScriptWire<AbortRequest, AbortAnswer> = {
  write(to, { id, generation, due, announced, owed }) {
    to.job(id);
    to.number(generation);
    to.time(due);
    to.number(announced);
    writeOwed(to, owed);
  },
  read: (from) => entry(ABORT_ANSWERS, from.number()),
};

export const revokeWire: ScriptWire<RevokeRequest, RevokeAnswer> = {
  write(to, { id, born, due, owed, abort }) {
    to.job(id);
    to.optional(born);
    to.time(due);
    writeOwed(to, owed);
    to.flag(abort);
  },
  read(from) {
    const result = entry(REVOKE_RESULTS, from.number());
    const begun = from.number() === 1;
    return { result, begun, revoked: readSchedule(from) };
  },
};

export const findWire: ScriptWire<string, Schedule | undefined> = {
  write: (to, id) => to.job(id),
  read: readSchedule,
};

function writeOpening(to: ScriptArguments, opening: Opening): void {
  switch (opening.by) {
    case 'add':
      to.text('a');
      return to.text(opening.onDuplicate);
    case 'move':
      to.text('m');
      return to.number(opening.expected);
    case 'revive':
      to.text('v');
      return to.number(opening.expected);
    case 'again':
      to.text('g');
      return writeRunFields(to, opening.run);
  }
}

function writeOwed(to: ScriptArguments, { mask, unknown }: OwedCopies): void {
  to.number(mask);
  to.flag(unknown);
}

function readSchedule(from: ScriptReply): Schedule | undefined {
  const text = from.text();
  if (text === '') return undefined;
  const state = STATES[text];
  if (state === undefined) throw new TypeError(`a script replied ${text} for a state`);
  const [born, generation, due, attempt] = [from.number(), from.number(), from.number(), from.number()];
  return { state, born, generation, due, attempt, places: parsePlaces(from.text()) };
}
