import { PRELUDE } from './prelude.lua.js';

/**
 * Who runs a job now. KEYS: dead index, the claims' records, the settled copies' records.
 * ARGV after the common ones: number of claims; generation, due, token, attempts of each; generation, mask, unknown
 * of each settled. Reply, four integers a claim: 0 gone | 1 run, fence, attempt, due | 2 wait, ms | 3 busy, ms, ranFor |
 * 4 dead, fresh | 5 stale.
 */
export const CLAIM: string = `${PRELUDE}
local GONE, RUN, WAIT, BUSY, DEAD, STALE = 0, 1, 2, 3, 4, 5

local function isAborted(record, generation)
  return record.aborted and string.find(',' .. record.aborted .. ',', ',' .. generation .. ',', 1, true)
end

local function bury(key, why, isNew, generation, due, attempt, fence)
  call('HSET', key, 's', 'x', 'g', generation, 'd', due, 'n', attempt, 'c', fence,
    'y', why, 'p', now)
  if isNew then
    call('HSET', key, 'b', generation)
  else
    call('HDEL', key, 'e', 't')
    call('PERSIST', key)
  end
  index(key)
end

local function claim(key, generation, due, token, attempts)
  local record = readRecord(key, generation)
  local committed = record and record.committed or -1
  local current = record and generation == committed
  if record then
    if generation < committed or isAborted(record, generation) then return GONE, 0, 0, 0 end
    -- A run goes on under a revoke that came after it began.
    if generation <= record.floor and not (current and record.running) then return GONE, 0, 0, 0 end
    if current then
      local state = record.state
      if state == 'd' or state == 'v' or state == 'u' then return GONE, 0, 0, 0 end
      if state == 'x' then return DEAD, 0, 0, 0 end
    end
  end
  -- The number of a generation is its opening time.
  if generation > committed and now - generation < 10000 then
    return WAIT, math.min(500, max(20, math.abs(now - generation))), 0, 0
  end
  local runDue, attempt = due, 0
  if record then
    local left = max(record.leaseEnd, record.holdEnd) - now
    local last = record.state == 'l'
    if record.running and current and record.token == token and (left > 0 or not last) then
      record.leaseEnd = now + LEASE
      call('HSET', key, 'e', record.leaseEnd)
      expire(key, record)
      return RUN, record.fence, record.attempt, record.due
    end
    if left > 0 then return BUSY, left, max(0, math.floor((us - record.fence) / 1000)), 0 end
    if current and last then
      record.state, record.leaseEnd = 'v', 0
      call('HSET', key, 's', 'v')
      call('HDEL', key, 'e', 't')
      expire(key, record)
      return GONE, 0, 0, 0
    end
    if current then runDue, attempt = record.due, record.attempt end
  end
  if runDue > now then return WAIT, runDue - now, 0, 0 end
  local fence = newFence(record)
  if not record and due + STALE_AFTER < now then
    bury(key, 'stale', true, generation, due, 0, fence)
    return STALE, 0, 0, 0
  end
  if attempt >= attempts then
    bury(key, 'attempts', not record, generation, runDue, attempt, fence)
    return DEAD, 1, 0, 0
  end
  attempt = attempt + 1
  local leaseEnd = now + LEASE
  if current then
    call('HSET', key, 's', 'r', 'n', attempt, 'c', fence, 'e', leaseEnd, 't', token)
  else
    -- A newer generation is committed by its first run: a commit that was lost loses no job.
    call('HSET', key, 's', 'r', 'g', generation, 'd', due, 'n', '1', 'c', fence,
      'e', leaseEnd, 't', token, 'b', generation)
  end
  expire(key, { state = 'r', due = runDue, leaseEnd = leaseEnd, holdEnd = 0, owed = record and record.owed or '' })
  return RUN, fence, attempt, runDue
end

local count = tonumber(ARGV[5])
local reply = { 1, us }
for i = 1, count do
  local a, r = 2 + i * 4, i * 4 - 1
  reply[r], reply[r + 1], reply[r + 2], reply[r + 3] =
    claim(KEYS[i + 1], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), ARGV[a + 2], tonumber(ARGV[a + 3]))
end
local a = 6 + count * 4
for k = count + 2, #KEYS do
  settle(KEYS[k], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]))
  a = a + 3
end
return reply
`;
