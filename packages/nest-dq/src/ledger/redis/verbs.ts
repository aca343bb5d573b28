import type { AnswerOf, RequestOf, Verb } from '../ledger.js';
import type { RedisVerb } from './script.js';
import { abort } from './verbs/abort.js';
import { claim } from './verbs/claim.js';
import { commit } from './verbs/commit.js';
import { complete } from './verbs/complete.js';
import { extend } from './verbs/extend.js';
import { find } from './verbs/find.js';
import { buried, deaths, discard, letter, letters, surplus } from './verbs/letters.js';
import { open } from './verbs/open.js';
import { pause, paused, resume } from './verbs/pause.js';
import { revoke } from './verbs/revoke.js';
import { settle } from './verbs/settle.js';
import { trace } from './verbs/trace.js';
import { usage } from './verbs/usage.js';
import { index, locate, tally, waiting } from './verbs/waiting.js';

/** Every verb as Redis implements it. The rules in memory are their reference: ../rules. */
export const REDIS_VERBS: { readonly [V in Verb]: RedisVerb<RequestOf<V>, AnswerOf<V>> } = {
  claim,
  extend,
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
  pause,
  resume,
  paused,
  usage,
};
