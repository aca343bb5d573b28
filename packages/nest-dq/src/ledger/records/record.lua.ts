import { TUBE_KEYS } from '../script.js';
import { OWED_COPIES } from './owed-copies.lua.js';

/**
 * The start of every script of the ledger: the time, the latest time at which the call may act, and the record of a job.
 *
 * The record is one string at `{<tube>}:<id>`, a MessagePack map. Times are ledger milliseconds. The value in brackets is
 * that of an absent field.
 *
 *  1. `state`      w waiting, r running, l running for the last time (it was revoked, and no other run may start), d done,
 *                  v revoked, u revoked while unknown to the ledger (it may have ended long ago), x dead
 *  2. `committed`  the committed generation, -1 for none [0]
 *  3. `born`       the generation of the add, -1 for none [0]
 *  4. `due`        due time; while it waits for a retry, the time of the retry [0]
 *  5. `attempt`    number of started runs that count [0]
 *  6. `fence`      fence of the last run, in microseconds [0]
 *  7. `leaseEnd`   end of the lease, only while it runs [0]
 *  8. `token`      token of the claim that was granted the run; only while it runs, and not in a rebuilt record
 *  9. `owed`       the copies of the committed generation that may exist: a list of due, mask and unknown (0 or 1). Absent
 *                  if that generation was opened: then see 10
 * 10. `sum`        sum of the marks of all copies that may exist of opened generations, see owed-copies.ts [0]
 * 11. `sumDue`     latest due time of these copies [0]
 * 12. `counted`    true if the copies of the committed generation are in the sum
 * 13. `lostDue`    latest due time of the copies of opened generations whose put got no answer [0]
 * 14. `floor`      this generation and all older ones are void [-1]
 * 15. `opened`     the last opened generation [-1]
 * 16. `aborted`    the aborted generations above the committed one, as a list with the first and the last of each
 *                  consecutive range
 * 17. `holdEnd`    time until which a run of a replaced generation may continue, with the same fence [0]
 * 18. `places`     places of the copies, as written by formatPlaces; only for keyed and moved jobs, until they end otherwise
 *                  than by a revoke; and for plain jobs that were revoked by id, or with `confirmed` ['']
 * 19. `abort`      true while the run of state l, or the one that holds, is asked to stop
 * 20. `first`      the first opened generation this record knows of; -1 if that is `opened` [-1]
 * 21. `failures`   the last failed runs of a job that waits for a retry or runs again: a list of JSON strings, oldest first.
 *                  Only for people to see
 * 22. `expired`    true if it expired. Its state is v, so that older versions never run it
 * 23. `startBy`    its expiry, while it continues as its old generation: see `later` in ../requests.ts. Otherwise its copies have it
 * 24. `progress`   how far a run is: a list of its fence and a JSON string. Only while it runs, and only for people to see
 *
 * A script reads and writes a record as a whole, because Redis calls take most of its time. To inspect one:
 * `redis-cli EVAL "return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))" 1 '{<tube>}:<id>'`.
 *
 * Each write decides how long the record is kept:
 *  - a dead one forever
 *  - an ended one without owed copies for DONE_TTL
 *  - any other until KEPT_AFTER (twice STALE_AFTER plus a minute) after the latest time in it. A copy that comes later is
 *    stale even without a record and after pauses: see pauses.lua.ts
 * A record may be kept longer. So the end of a run leaves the expiry set by its lease if that is late enough.
 *
 * A tube also has an index of its waiting jobs, see waiting.ts, and its dead letters, each with the name `<id>:<born>`:
 *  - `{<tube>}::dead`, a sorted set: their names by time of death
 *  - `{<tube>}::letters`, a hash: under the name a JSON string, under `<name>:l` the places
 *
 * With the option `keepDone` it also has its finished jobs; both keys expire when no job has finished for that long:
 *  - `{<tube>}::finished`, a sorted set: their ids by the time of their end
 *  - `{<tube>}::ends`, a hash: under the id what `packEntry` makes of the run
 *
 * Its pauses are at `{<tube>}::control`: see pauses.ts.
 *
 * To change this: a new field only needs a default for its absence. A field that changes its meaning gets a new name, and for one
 * minor version the scripts read both, because processes of two versions share the records.
 *
 * A fence has 16 digits. tostring, `..` and cjson.encode keep only 14, so only cmsgpack writes fences. Generations and times
 * have 13 digits.
 *
 * Scripts use only the keys in KEYS: first those of the tube (TUBE_KEYS in ../script.ts), then the records, then FINISHED_KEYS if a
 * request needs them. ARGV: the latest time at which
 * the call may act, the four settings, and one JSON list, `args`, with all values of the requests: see `replyEach` in
 * ../script.ts. A single argument costs a third of many. Every reply is a flat list of integers and strings: 1 if the script
 * acted and 0 if the call came too late, then the server's time in microseconds, then the answers.
 */
export const RECORD: string = `
local call, max = redis.call, math.max
local time = call('TIME')
local us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(us / 1000)
if now > tonumber(ARGV[1]) then return { 0, us } end
local LEASE, DONE_TTL, STALE_AFTER = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local KEPT_AFTER = 2 * STALE_AFTER + 60000
local MOST_INDEXED = tonumber(ARGV[5])
local args = cjson.decode(ARGV[6])
local HEAD = ${TUBE_KEYS.length}
local ${TUBE_KEYS.join(', ').toUpperCase()} = ${TUBE_KEYS.map((_, i) => `KEYS[${i + 1}]`).join(', ')}

local reply = { 1, us }

local function push(first, ...)
  local r = #reply + 1
  reply[r] = first
  for i = 1, select('#', ...) do reply[r + i] = (select(i, ...)) end
end

-- A string as it goes into a reply. Nothing of ours is longer, so anything cut off would not be valid anyway.
local function short(text)
  return #text > 1048576 and string.sub(text, 1, 1000) or text
end

local ABSENT = {
  __index = {
    committed = 0, born = 0, due = 0, attempt = 0, fence = 0, leaseEnd = 0, sum = 0, sumDue = 0, lostDue = 0, floor = -1,
    opened = -1, first = -1, holdEnd = 0, places = '',
  },
}

-- The record of a generation that was neither claimed nor revoked. An absent number is 0, as for a plain job.
local function newRecord(generation, born, due)
  return setmetatable({
    state = 'w', due = due, committed = generation ~= 0 and generation or nil, born = born ~= 0 and born or nil,
  }, ABSENT)
end

-- The record of a job without a committed generation.
local function emptyRecord()
  return newRecord(-1, -1, 0)
end

-- The record of a run that Redis has lost, rebuilt from what the run's process knows.
local function madeAnew(generation, born, due, fence, attempt)
  local record = newRecord(generation, born, due)
  record.state, record.fence, record.attempt = 'r', fence, attempt
  return record
end

-- Returns nil if there is no record.
local function readRecord(key)
  local packed = call('GET', key)
  return packed and setmetatable(cmsgpack.unpack(packed), ABSENT) or nil
end

-- leaseUntil: end of the lease of a run that ends now. If the expiry set by this lease is late enough, it stays.
local function writeRecord(key, record, leaseUntil)
  local state, packed = record.state, cmsgpack.pack(record)
  if state == 'x' then
    call('SET', key, packed)
    return
  end
  local owed, sum, lostDue = record.owed, record.sum, record.lostDue
  local ended = state == 'd' or state == 'v' or state == 'u' or record.committed == -1
  local owes = owed or sum ~= 0 or lostDue ~= 0 and lostDue + KEPT_AFTER > now
  if ended and not owes and record.holdEnd <= now then
    call('SET', key, packed, 'PX', DONE_TTL)
    return
  end
  local last = max(now, record.due, record.leaseEnd, record.holdEnd, record.sumDue, lostDue)
  if owed then last = max(last, owed[1]) end
  if leaseUntil and last <= leaseUntil then
    call('SET', key, packed, 'KEEPTTL')
  else
    call('SET', key, packed, 'PX', last - now + KEPT_AFTER)
  end
end

local function isRunning(record)
  return record.state == 'r' or record.state == 'l'
end

-- Ends the run, if any. The fence stays, because it may only grow. A letter takes over what failed; any other end forgets it.
local function endRun(record, state)
  record.state, record.leaseEnd, record.token, record.abort, record.expired = state, nil, nil, nil, nil
  record.progress = nil
  if state ~= 'w' and state ~= 'x' then record.failures = nil end
end

local function isAborted(record, generation)
  local aborted = record.aborted
  if not aborted then return false end
  for i = 1, #aborted, 2 do
    if generation >= aborted[i] and generation <= aborted[i + 1] then return true end
  end
  return false
end

-- Whether no copy of a generation is needed any more and none may run. Once true, it stays true.
local function isOver(record, generation)
  local state, committed = record.state, record.committed
  if generation < committed or isAborted(record, generation) then return true end
  if generation > committed then return generation <= record.floor end
  -- A run that began before the revoke continues, and a letter stays.
  return state == 'd' or state == 'v' or state == 'u' or state == 'w' and generation <= record.floor
end

local function addAborted(record, generation)
  local aborted = record.aborted or {}
  record.aborted = aborted
  for i = 1, #aborted, 2 do
    if aborted[i + 1] + 1 == generation then
      aborted[i + 1] = generation
      return
    end
  end
  aborted[#aborted + 1] = generation
  aborted[#aborted + 1] = generation
end

-- Forgets that the generations in this range are aborted.
local function dropAborted(record, from, to)
  local aborted = record.aborted
  if not aborted then return end
  local outside = {}
  local function keep(first, last)
    if first > last then return end
    outside[#outside + 1] = first
    outside[#outside + 1] = last
  end
  for i = 1, #aborted, 2 do
    keep(aborted[i], math.min(aborted[i + 1], from - 1))
    keep(max(aborted[i], to + 1), aborted[i + 1])
  end
  record.aborted = outside[1] and outside or nil
end

-- The first opening this record has seen.
local function firstOpened(record)
  return record.first < 0 and record.opened or record.first
end

-- False if Redis has lost the record in which the generation was opened.
local function wasOpened(record, generation)
  return generation >= firstOpened(record) and generation <= record.opened
end

-- Aborts every generation opened but not committed. If Redis has lost what was committed before, it aborts only those that
-- the record has seen opened, because an older one may be the job.
local function abortOpened(record, before)
  local committed, opened = record.committed, record.opened
  if opened <= committed then return end
  local from = max(committed + 1, before < 0 and firstOpened(record) or 0)
  dropAborted(record, from, opened)
  local aborted = record.aborted or {}
  aborted[#aborted + 1] = from
  aborted[#aborted + 1] = opened
  record.aborted = aborted
end
${OWED_COPIES}
-- Makes a generation the job: it waits, and its attempts start over.
local function swap(record, born, generation, due, places)
  endRun(record, 'w')
  dropAborted(record, 0, generation)
  countOwed(record)
  record.born, record.committed, record.due, record.attempt, record.places = born, generation, due, 0, places
  record.counted = generation <= record.opened or nil
  record.failures, record.startBy = nil, nil
end

local function failuresOf(record)
  local failures = record and record.failures
  return failures and '[' .. table.concat(failures, ',') .. ']' or ''
end

-- Empty unless the present run reported some: a process of an older version may have left that of an earlier run.
local function progressOf(record)
  local progress = record and isRunning(record) and record.leaseEnd > now and record.progress
  return progress and progress[1] == record.fence and short(progress[2]) or ''
end

local function newFence(record)
  return record and max(record.fence + 1, us) or us
end

-- A record's key begins with DEAD without its ':dead', and ends with the id.
local function idOf(key)
  return string.sub(key, #DEAD - 4)
end

local function letterName(key, born)
  return idOf(key) .. ':' .. born
end

-- While the slot of a tube is migrating, a call concerns one job and names only its record's key: see redis-tube-ledger.ts.
local function needLetters()
  if DEAD == LETTERS then error({ err = 'TRYAGAIN dead letters cannot be read while their slot moves' }) end
end

local function addLetter(key, record, why, err, places)
  needLetters()
  local name = letterName(key, record.born)
  local failures = failuresOf(record)
  record.failures = nil
  local letter = '{"why":"' .. why .. '","generation":' .. record.committed .. ',"due":' .. record.due ..
    ',"attempt":' .. record.attempt .. ',"died":' .. now .. (err == '' and '' or ',"error":' .. err) ..
    (failures == '' and '' or ',"failures":' .. failures) .. '}'
  call('ZADD', DEAD, now, name)
  call('HSET', LETTERS, name, letter, name .. ':l', places)
end

-- Returns the places; nil if there is no such letter.
local function dropLetter(name)
  needLetters()
  local places = call('HGET', LETTERS, name .. ':l')
  call('ZREM', DEAD, name)
  call('HDEL', LETTERS, name, name .. ':l')
  return places or nil
end
`;

/** For scripts whose requests often concern the same record: each record is read once, and written once, by `writeAll`. */
export const RECORDS_ONCE: string = `
local readStored, writeStored = readRecord, writeRecord
local records, changed = {}, {}

local function readRecord(key)
  local record = records[key]
  if record == nil then
    record = readStored(key) or false
    records[key] = record
  end
  return record or nil
end

local function writeRecord(key, record)
  records[key], changed[key] = record, record
end

local function writeAll()
  for key, record in pairs(changed) do writeStored(key, record) end
end
`;
