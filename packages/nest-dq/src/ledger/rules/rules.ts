import type { AnswerOf, RequestOf, Verb } from '../ledger.js';
import { buried, deaths, discard, letter, letters, surplus } from './letters.js';
import { usage, type Claiming } from './limits.js';
import { settle } from './owed-copies.js';
import { pause, paused, resume } from './pauses.js';
import type { Moment, Records } from './records.js';
import { claim, complete, extend } from './runs.js';
import { abort, commit, find, open, revoke, trace } from './schedules.js';
import { index, locate, tally, waiting } from './waiting.js';

/** The decision of a verb about one job. It depends only on the records, the request and the time. */
type Rule<V extends Verb> = (
  records: Records,
  request: RequestOf<V>,
  time: Moment,
  /** For claims: shared by all of a call. */
  claiming?: Claiming,
) => AnswerOf<V>;

/** The reference for all ledgers. The Redis scripts do the same, step by step: redis/verbs. */
export const RULES: { readonly [V in Verb]: Rule<V> } = {
  claim,
  extend,
  complete,
  open,
  commit,
  abort,
  revoke,
  find,
  trace,
  settle(records, settled, time) {
    const record = records.read(settled.id, time);
    if (record && settle(record, settled)) records.write(settled.id, record, time);
  },
  index,
  waiting,
  locate,
  tally,
  letters,
  letter,
  buried,
  discard,
  surplus,
  deaths,
  pause,
  resume,
  paused,
  usage,
};
