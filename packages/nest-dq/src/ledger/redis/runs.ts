import { formatPlaces } from '../../copies/location.js';
import type {
  ClaimAnswer,
  ClaimRequest,
  ExtendAnswer,
  RunRef,
  CompleteAnswer,
  CompleteRequest,
  SettledCopies,
} from '../requests.js';
import { entry, type ScriptArguments, type ScriptWire } from './script-wire.js';

const FINISH_ANSWERS: readonly CompleteAnswer[] = ['refused', 'ok', 'over'];
const EXTEND_ANSWERS: readonly ExtendAnswer[] = ['refused', 'ok', 'abort'];

export const claimWire: ScriptWire<ClaimRequest, ClaimAnswer> = {
  write(to, { id, generation, born, due, token, attempts }) {
    to.job(id);
    to.number(generation);
    to.number(born);
    to.time(due);
    to.text(token);
    to.number(attempts);
  },
  read(from, { due }) {
    const kind = from.number();
    switch (kind) {
      case 0:
        return { kind: 'gone' };
      case 1:
        return { kind: 'run', fence: from.number(), attempt: from.number(), due: from.number() };
      case 2:
        return { kind: 'wait', ms: from.number() };
      case 3:
        return { kind: 'busy', ms: from.number(), ranFor: from.number() };
      case 4:
        return { kind: 'dead', fresh: from.number() === 1 };
      case 5:
        return { kind: 'stale' };
      case 6:
        return { kind: 'run', fence: from.time, attempt: 1, due: Math.ceil(due) };
      default:
        throw new TypeError(`the claim script replied ${kind}`);
    }
  },
};

export const finishWire: ScriptWire<CompleteRequest, CompleteAnswer> = {
  write(to, request) {
    const { owed, outcome } = request;
    writeRun(to, request);
    to.number(owed.mask);
    to.flag(owed.unknown);
    switch (outcome.kind) {
      case 'done':
        return to.text('d');
      case 'back':
        return to.text('b');
      case 'retry':
        to.text('w');
        return to.time(outcome.due);
      case 'dead': {
        const { why, error } = outcome.death;
        to.text('x');
        to.text(why);
        to.text(error ? JSON.stringify(error) : '');
        return to.text(formatPlaces(outcome.places));
      }
      case 'again':
      case 'later':
        to.text(outcome.kind === 'again' ? 'g' : 'l');
        to.number(outcome.generation);
        to.time(outcome.due);
        to.number(outcome.announced);
        to.number(outcome.owed.mask);
        to.flag(outcome.owed.unknown);
        return to.text(formatPlaces(outcome.places));
    }
  },
  read: (from) => entry(FINISH_ANSWERS, from.number()),
  usual: 'ok',
};

export const extendWire: ScriptWire<RunRef, ExtendAnswer> = {
  write: writeRun,
  read: (from) => entry(EXTEND_ANSWERS, from.number()),
  usual: 'ok',
};

/** Has no answer. */
export function writeSettled(to: ScriptArguments, { id, generation, mask, unknown }: SettledCopies): void {
  to.job(id);
  to.number(generation);
  to.number(mask);
  to.flag(unknown);
}

function writeRun(to: ScriptArguments, run: RunRef): void {
  to.job(run.id);
  writeRunFields(to, run);
}

/** What a record that was lost is made anew from. */
export function writeRunFields(to: ScriptArguments, run: RunRef): void {
  to.number(run.generation);
  to.number(run.born);
  to.time(run.due);
  to.number(run.fence);
  to.number(run.attempt);
  to.number(Math.floor(run.lastOk));
}
