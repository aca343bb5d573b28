import { PRELUDE } from './prelude.lua.js';

/**
 * Who runs a job now. KEYS: dead letters, the claims' records, the settled copies' records.
 * ARGV after the common ones: number of claims; generation, born, due, token, attempts of each; generation, mask, unknown
 * of each settled. Reply, four integers a claim: 0 gone | 1 run, fence, attempt, due | 2 wait, ms | 3 busy, ms, ranFor |
 * 4 dead, fresh | 5 stale.
 */
export const CLAIM: string = `${PRELUDE}
local GONE, RUN, WAIT, BUSY, DEAD, STALE = 0, 1, 2, 3, 4, 5
local YOUNG = 10000
-- A replaced run that ends tells nobody, so whoever it holds back looks again after this.
local HOLD_LOOK = 1000

-- Its new fence refuses whatever the last runner may still send.
local function bury(key, why, record, generation, born, due, attempt)
  local places = record and call('HGET', key, 'l') or ''
  call('HSET', key, 's', 'x', 'g', generation, 'b', born, 'd', due, 'n', attempt, 'c', newFence(record))
  if record then
    call('HDEL', key, 'e', 't', 'k', 'l')
    call('PERSIST', key)
  end
  addLetter(key, born, generation, due, attempt, why, '', places)
end

local function claim(key, generation, born, due, token, attempts)
  local record = readRecord(key, generation)
  local committed = record and record.committed or -1
  local current = record and generation == committed
  if record then
    local state = record.state
    if generation < committed or isAborted(record, generation) then return GONE, 0, 0, 0 end
    if current then
      if state == 'd' or state == 'v' or state == 'u' then return GONE, 0, 0, 0 end
      if state == 'x' then return DEAD, 0, 0, 0 end
    end
    -- A run goes on under a revoke that came after it began.
    if generation <= record.floor and not (current and record.running) then return GONE, 0, 0, 0 end
  end
  -- The number of a generation is its opening time.
  local age = now - generation
  if generation > committed and age < YOUNG then
    return WAIT, math.min(500, max(20, math.abs(age))), 0, 0
  end
  local runDue, attempt = due, 0
  if record then
    -- A job that was born after what is committed: Redis has lost its add, too, and there is nothing that it was moved from.
    local moved = not current and committed ~= -1 and born ~= generation and born <= committed
    local left = max(record.leaseEnd, record.holdEnd) - now
    local last = record.state == 'l'
    if record.running and current and record.token == token and (left > 0 or not last) then
      record.leaseEnd = now + LEASE
      call('HSET', key, 'e', record.leaseEnd)
      expire(key, record)
      return RUN, record.fence, record.attempt, record.due
    end
    if left > 0 and not (moved and record.born ~= born) then
      if record.leaseEnd <= now then left = math.min(left, HOLD_LOOK) end
      return BUSY, left, max(0, math.floor((us - record.fence) / 1000)), 0
    end
    if current and last then
      record.state, record.leaseEnd = 'v', 0
      call('HSET', key, 's', 'v')
      call('HDEL', key, 'e', 't', 'k')
      expire(key, record)
      return GONE, 0, 0, 0
    end
    -- By now no run has a lease. What a lapsed run left may be all that Redis kept of an Again, and a letter of a revival.
    local state = record.state
    local rests = state == 'w' or state == 'r' or state == 'x'
    if moved and not (rests and record.born == born) then
      -- Whoever moved the job was lost before the commit. Its old generation is over, or it is another job by now.
      call('HSET', key, 'a', abortedAlso(record, generation)) -- for a commit may still come, when the copies are gone
      expire(key, record)
      return GONE, 0, 0, 0
    end
    if current then runDue, attempt = record.due, record.attempt end
  end
  if runDue > now then return WAIT, runDue - now, 0, 0 end
  if not record and due + STALE_AFTER < now then
    bury(key, 'stale', nil, generation, born, due, 0)
    return STALE, 0, 0, 0
  end
  if attempt >= attempts then
    bury(key, 'attempts', record, generation, record and record.born or born, runDue, attempt)
    return DEAD, 1, 0, 0
  end
  local fence = newFence(record)
  attempt = attempt + 1
  local leaseEnd = now + LEASE
  if current then
    call('HSET', key, 's', 'r', 'n', attempt, 'c', fence, 'e', leaseEnd, 't', token)
    if record.abort then call('HDEL', key, 'k') end
  else
    -- A newer generation is committed by its first run: a commit that was lost loses no job.
    call('HSET', key, 's', 'r', 'g', generation, 'b', born, 'd', due, 'n', '1', 'c', fence, 'e', leaseEnd, 't', token)
    if record then
      call('HDEL', key, 'k', 'l')
      if record.state == 'x' and record.born == born then dropLetter(letterName(key, born)) end
      if record.aborted ~= '' then call('HSET', key, 'a', abortedAbove(record, generation)) end
    end
  end
  local holdEnd = record and record.holdEnd or 0
  expire(key, { state = 'r', due = runDue, leaseEnd = leaseEnd, holdEnd = holdEnd, owed = record and record.owed or '' })
  return RUN, fence, attempt, runDue
end

local count = tonumber(ARGV[5])
local reply = { 1, us }
for i = 1, count do
  local a, r = 1 + i * 5, i * 4 - 1
  reply[r], reply[r + 1], reply[r + 2], reply[r + 3] =
    claim(KEYS[i + 2], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), ARGV[a + 3], tonumber(ARGV[a + 4]))
end
local a = 6 + count * 5
for k = count + 3, #KEYS do
  settle(KEYS[k], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]))
  a = a + 3
end
return reply
`;
