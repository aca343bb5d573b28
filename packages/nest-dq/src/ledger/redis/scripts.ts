import type { AnswerOf, RequestOf, Verb } from '../ledger.js';
import type { RedisVerb } from '../script.js';
import { abort } from '../schedules/abort.lua.js';
import { claim } from '../runs/claim.lua.js';
import { commit } from '../schedules/commit.lua.js';
import { complete } from '../runs/complete.lua.js';
import { extend } from '../runs/extend.lua.js';
import { ended, finished } from '../finished/finished.lua.js';
import { find } from '../schedules/find.lua.js';
import { buried, deaths, discard, letter, letters, surplus } from '../letters/letters.lua.js';
import { progress } from '../runs/progress.lua.js';
import { open } from '../schedules/open.lua.js';
import { pause, paused, resume } from '../pauses/pause.lua.js';
import { revoke } from '../schedules/revoke.lua.js';
import { settle } from '../records/settle.lua.js';
import { trace } from '../schedules/trace.lua.js';
import { usage } from '../limits/usage.lua.js';
import { index, locate, tally, waiting } from '../waiting/listing.lua.js';

/** Every verb as Redis implements it. The rules in memory are their reference: ../rules. */
export const REDIS_VERBS: { readonly [V in Verb]: RedisVerb<RequestOf<V>, AnswerOf<V>> } = {
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
  settle,
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
