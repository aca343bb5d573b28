import { showInstant, type When } from 'nest-handlers/time';
import type { PatienceOptions } from '../api/job.js';
import { storedTube, type Tube, withoutPrefix } from '../api/tube.js';
import { DqError } from '../errors.js';
import type { ProducerContext } from '../producer/producer-context.js';
import { parseWhen } from '../time/instant.js';
import { Act, type ActOptions } from './act.js';

/** The last time a Date can have. */
const LAST_TIME = 8.64e15;

/** Prepares an act on a tube. Throws `DQ_CLOSED`, `DQ_BAD_TUBE`, `DQ_BAD_OPTION`, `DQ_BAD_DURATION`. */
export function tubeAct(
  context: ProducerContext,
  act: string,
  tube: string | Tube,
  { by, patience }: PatienceOptions & ActOptions,
) {
  const { events, ledger, settings } = context.parts;
  context.refuseIfClosed();
  const storedAs = storedTube(tube, settings.prefix);
  const name = withoutPrefix(storedAs, settings.prefix);
  const patient = { patience: context.patienceOf(patience), repeatable: true };
  return {
    name,
    storedAs,
    ledger: ledger.tube(storedAs),
    act: new Act(events, act, { tube: name }, by),
    /** Repeats a call while servers are away, until the patience runs out. */
    retried: <T>(call: () => Promise<T>) => context.retries.run(patient, call),
  };
}

/** Parses when an act ends. Throws `DQ_BAD_TIME`, `DQ_TOO_FAR`. */
export function parseEnd(when: When): number {
  const until = parseWhen(when);
  if (until <= LAST_TIME) return until;
  const last = new Date(LAST_TIME).toISOString();
  throw new DqError('DQ_TOO_FAR', `\`until\` is ${until} ms since 1970: expected ${last} or sooner`);
}

/** Returns the error for an end that has passed at ledger time `now`. */
export function alreadyPast(until: number, now: number): DqError {
  const fact = `\`until\` is ${showInstant(until)}, but it is already ${showInstant(Math.floor(now))}: expected a later time`;
  return new DqError('DQ_PAST_TIME', fact);
}
