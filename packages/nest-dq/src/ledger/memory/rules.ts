import type { AnswerOf, RequestOf, Verb } from '../ledger.js';
import { buried, deaths, discard, letter, letters, surplus } from '../letters/letters.rule.js';
import { ended, finished } from '../finished/finished.rule.js';
import { usage, type Claiming } from '../limits/limits.rule.js';
import { settle } from '../records/owed-copies.rule.js';
import { pause, paused, resume } from '../pauses/pauses.rule.js';
import type { Moment, Records } from '../records/records.js';
import { claim, complete, extend, progress } from '../runs/runs.rule.js';
import { abort, commit, find, open, revoke, trace } from '../schedules/schedules.rule.js';
import { index, locate, tally, waiting } from '../waiting/waiting.rule.js';

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
  progress,
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
  finished,
  ended,
  pause,
  resume,
  paused,
  usage,
};
