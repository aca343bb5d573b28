import { PRELUDE } from './prelude.lua.js';

/**
 * Renews leases. KEYS: dead letters, the records. ARGV after the common ones, six for each: generation, born, due, fence,
 * attempt, lastOk. Reply, one integer each: 0 refused, 1 ok, 2 ok and the handler is asked to stop.
 */
export const EXTEND: string = `${PRELUDE}
local REFUSED, OK, ABORT = 0, 1, 2

local function extend(key, a)
  local generation, due, fence = tonumber(ARGV[a]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local record = readRecord(key, generation)
  if not record then
    if now - tonumber(ARGV[a + 5]) >= DONE_TTL then return REFUSED end
    record = { state = 'r', due = due, holdEnd = 0, owed = '' }
    call('HSET', key, 's', 'r', 'g', generation, 'b', ARGV[a + 1], 'd', due, 'n', ARGV[a + 4], 'c', fence)
  elseif record.fence ~= fence then
    return REFUSED
  elseif generation < record.committed and record.holdEnd > 0 then
    record.holdEnd = now + LEASE
    call('HSET', key, 'h', record.holdEnd)
    expire(key, record)
    return record.abort and ABORT or OK
  elseif not record.running then
    return REFUSED
  end
  record.leaseEnd = now + LEASE
  call('HSET', key, 'e', record.leaseEnd)
  expire(key, record)
  return record.abort and ABORT or OK
end

local reply = { 1, us }
for i = 1, #KEYS - 2 do
  reply[i + 2] = extend(KEYS[i + 2], 5 + (i - 1) * 6)
end
return reply
`;
