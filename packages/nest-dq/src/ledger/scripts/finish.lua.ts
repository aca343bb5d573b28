import { PRELUDE } from './prelude.lua.js';

/**
 * What became of runs. KEYS: dead index, the records. ARGV after the common ones, eleven for each: generation, due,
 * fence, attempt, lastOk, mask, unknown, outcome (d done, w retry, b back, x dead), next due, why dead, error as JSON.
 * Reply, one integer each: 0 refused, 1 ok, 2 revoked.
 */
export const FINISH: string = `${PRELUDE}
local REFUSED, OK, REVOKED = 0, 1, 2

local function finish(key, a)
  local generation, due, fence = tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local record = readRecord(key, generation)
  if not record then
    if now - tonumber(ARGV[a + 4]) >= DONE_TTL then return REFUSED end
    record = { state = 'r', committed = generation, due = due, attempt = tonumber(ARGV[a + 3]), holdEnd = 0, owed = '' }
    call('HSET', key, 'g', generation, 'd', due, 'n', ARGV[a + 3], 'c', fence, 'b', generation)
  elseif record.fence ~= fence then
    return REFUSED
  elseif generation < record.committed then
    -- It was replaced while it ran, and only held its successor back.
    record.holdEnd = 0
    call('HDEL', key, 'h')
    expire(key, record)
    return OK
  elseif not record.running then
    return (record.state == 'v' or record.state == 'u') and REVOKED or OK
  end
  local outcome, next = ARGV[a + 7], due
  if outcome == 'd' or outcome == 'x' then
    record.state = outcome
  elseif record.state == 'l' then
    record.state = 'v'
  else
    record.state = 'w'
    next = outcome == 'w' and tonumber(ARGV[a + 8]) or now
    record.due = next
    if outcome == 'b' then record.attempt = max(0, record.attempt - 1) end
    call('HSET', key, 'd', next, 'n', record.attempt)
  end
  record.leaseEnd = 0
  record.owed = owe(record.owed, generation, next, tonumber(ARGV[a + 5]), tonumber(ARGV[a + 6]))
  call('HSET', key, 's', record.state, 'w', record.owed)
  call('HDEL', key, 'e', 't')
  if record.state == 'x' then
    call('HSET', key, 'y', ARGV[a + 9], 'p', now, 'm', ARGV[a + 10])
    index(key)
  end
  expire(key, record)
  return record.state == 'v' and REVOKED or OK
end

local reply = { 1, us }
for i = 1, #KEYS - 1 do
  reply[i + 2] = finish(KEYS[i + 1], 5 + (i - 1) * 11)
end
return reply
`;
