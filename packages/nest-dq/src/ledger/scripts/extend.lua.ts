import { PRELUDE } from './prelude.lua.js';

/**
 * Renews leases. KEYS: the records. ARGV after the common ones, five for each: generation, due, fence, attempt, lastOk.
 * Reply, one integer each: 0 refused, 1 ok.
 */
export const EXTEND: string = `${PRELUDE}
local REFUSED, OK = 0, 1

local function extend(key, a)
  local generation, due, fence = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local record = readRecord(key, generation)
  if not record then
    if now - tonumber(ARGV[a + 4]) >= DONE_TTL then return REFUSED end
    record = { state = 'r', due = due, holdEnd = 0, owed = '' }
    call('HSET', key, 's', 'r', 'g', generation, 'd', due, 'n', ARGV[a + 3], 'c', fence,
      'b', generation)
  elseif record.fence ~= fence then
    return REFUSED
  elseif generation < record.committed and record.holdEnd > 0 then
    record.holdEnd = now + LEASE
    call('HSET', key, 'h', record.holdEnd)
    expire(key, record)
    return OK
  elseif not record.running then
    return REFUSED
  end
  record.leaseEnd = now + LEASE
  call('HSET', key, 'e', record.leaseEnd)
  expire(key, record)
  return OK
end

local reply = { 1, us }
for i = 1, #KEYS do
  reply[i + 2] = extend(KEYS[i], 5 + (i - 1) * 5)
end
return reply
`;
