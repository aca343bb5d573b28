import { PRELUDE } from './prelude.lua.js';

/**
 * Leaves deletions to other processes. KEYS: a sorted set, which nobody who is there within a day leaves as it is.
 * Arguments, two each: in how many ms they are certain, the deletions as JSON.
 */
export const LEAVE: string = `${PRELUDE}
for i = 1, #args, 2 do call('ZADD', KEYS[1], now + args[i], args[i + 1]) end
call('PEXPIRE', KEYS[1], 86400000)
return { 1, us }
`;

/** Takes some that are certain. KEYS: the sorted set. Reply: the deletions as JSON. */
export const TAKE: string = `${PRELUDE}
local MOST = 10
local reply = { 1, us }
-- The earliest ones, with their times: those of the highest rank from behind.
local found = call('ZREVRANGE', KEYS[1], -MOST, -1, 'WITHSCORES')
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) <= now then
    call('ZREM', KEYS[1], found[i])
    reply[#reply + 1] = found[i]
  end
end
return reply
`;
