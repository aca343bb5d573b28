import type { Usage, UsageRequest } from './limits.js';
import { RECORD } from '../records/record.lua.js';
import { namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<UsageRequest> = { group: 'group' };

/** Returns the usage counted against the limits of a tube. */
export const usage: RedisVerb<UsageRequest, Usage> = {
  fields: FIELDS,
  about: 'limits',
  script: `${RECORD}
local function usage(key, ${namesOf(FIELDS)})
  local packed = group and call('HGET', LIMITS, '=' .. group)
  local inGroup = packed and cmsgpack.unpack(packed)[1] or 0
  return call('ZCOUNT', RUNNING, '(' .. now, '+inf'), inGroup, tonumber(call('HGET', LIMITS, 'turn') or 0)
end
${replyEach(FIELDS, 'usage')}
return reply
`,
  read: (from) => ({ running: from.number(), inGroup: from.number(), turn: from.number() }),
};
