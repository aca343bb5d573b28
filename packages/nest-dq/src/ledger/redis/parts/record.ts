import { OWED_COPIES } from './owed-copies.js';

/**
 * What every script of the ledger begins with: the time, the latest acting time, and the record of a job.
 *
 * The record is one text at `{<tube>}:<id>`, a map in MessagePack. Times are ledger milliseconds; the value in brackets is
 * that of an absent field.
 *
 *  1. `state`      w waiting, r running, l running for the last time (revoked meanwhile: no further start), d done,
 *                  v revoked, u revoked when nothing was known of it (its end may be long over), x dead
 *  2. `committed`  the committed generation, -1 for none [0]
 *  3. `born`       the generation of the add, -1 for none [0]
 *  4. `due`        when it is due: the retry's own time while it waits for one [0]
 *  5. `attempt`    how many runs were begun and count [0]
 *  6. `fence`      of the last run, in microseconds [0]
 *  7. `leaseEnd`   only while it runs [0]
 *  8. `token`      of the claim that was given the run; only while it runs, and not in a record that was made anew
 *  9. `owed`       copies of the committed generation that may exist: due, mask and unknown (0 or 1) in a list. Not where
 *                  that generation was opened, see 10
 * 10. `sum`        of the marks of all copies that may exist of generations that were opened, see owed-copies.ts [0]
 * 11. `sumDue`     when they have come due at the latest [0]
 * 12. `counted`    true if the copies of the committed generation are in the sum
 * 13. `lostDue`    when copies of unknown fate of opened generations have come due at the latest [0]
 * 14. `floor`      this generation and all older ones are void [-1]
 * 15. `opened`     the opened generation [-1]
 * 16. `aborted`    the aborted generations above the floor that may have copies: the first and the last of each run of
 *                  consecutive ones, in one list
 * 17. `holdEnd`    until then a replaced run goes on, under the fence [0]
 * 18. `places`     of the copies, as formatPlaces writes them; of keyed and moved jobs, until they end ['']
 * 19. `abort`      true while the run of state l, or the one that holds, is asked to stop
 *
 * It is read and written as a whole: two calls of Redis are what a script costs most. To look at one:
 * `redis-cli EVAL "return cjson.encode(cmsgpack.unpack(redis.call('GET', KEYS[1])))" 1 '{<tube>}:<id>'`.
 *
 * How long it is kept is decided at each write. A dead one for good; an ended one that owes no copy for DONE_TTL; any other
 * until STALE_AFTER and a minute after the last time that it names, for by then a copy that comes is stale without it. Later
 * does no harm: a run's end leaves the expiry as it is where the run's lease has set one that is late enough.
 *
 * Beside the records of a tube stand its dead letters, each named `<id>:<born>`:
 *  - `{<tube>}::dead`, a sorted set: their names by time of death
 *  - `{<tube>}::letters`, a hash: under the name a JSON text, under `<name>:l` the places
 *
 * To change this: a field that is only added needs a value for its absence, and nothing else. A field that changes its
 * meaning gets a new name, and for one minor version the scripts read both: processes of two versions share the records.
 *
 * A fence has 16 digits, and tostring, `..` and cjson.encode keep 14: it is written by cmsgpack only, which keeps all.
 * Generations and times have 13.
 * Scripts touch KEYS only: the first two are the tube's dead letters, then come the records. ARGV: the latest acting time,
 * the three settings, and one JSON list with all that is said of the jobs, `args`: see `replyEach` in ../script.ts. As
 * one argument it costs a third of what it costs as many. Every reply is a flat list of integers and texts; the first is 1 if
 * the script acted and 0 if it came too late, the second the server's time in microseconds.
 */
export const RECORD: string = `
local call, max = redis.call, math.max
local time = call('TIME')
local us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(us / 1000)
if now > tonumber(ARGV[1]) then return { 0, us } end
local LEASE, DONE_TTL, STALE_AFTER = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local KEPT_AFTER = STALE_AFTER + 60000
local args = cjson.decode(ARGV[5])

local reply = { 1, us }

local function push(first, ...)
  local r = #reply + 1
  reply[r] = first
  for i = 1, select('#', ...) do reply[r + i] = (select(i, ...)) end
end

local ABSENT = {
  __index = {
    committed = 0, born = 0, due = 0, attempt = 0, fence = 0, leaseEnd = 0, sum = 0, sumDue = 0, lostDue = 0, floor = -1,
    opened = -1, holdEnd = 0, places = '',
  },
}

-- Of a generation that was never claimed nor revoked. Of a plain job's first, 0, it is nothing to write.
local function newRecord(generation, born, due)
  return setmetatable({
    state = 'w', due = due, committed = generation ~= 0 and generation or nil, born = born ~= 0 and born or nil,
  }, ABSENT)
end

-- Of a job of which nothing is committed yet.
local function emptyRecord()
  return newRecord(-1, -1, 0)
end

-- Of a run that was lost, from what its runner knows.
local function madeAnew(generation, born, due, fence, attempt)
  local record = newRecord(generation, born, due)
  record.state, record.fence, record.attempt = 'r', fence, attempt
  return record
end

-- nil if there is none
local function readRecord(key)
  local packed = call('GET', key)
  return packed and setmetatable(cmsgpack.unpack(packed), ABSENT) or nil
end

-- After a run, leaseUntil is the end of its last lease: where the expiry that this lease has set is late enough, it stays.
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

-- Ends whatever run there was. The fence stays, for it only grows.
local function endRun(record, state)
  record.state, record.leaseEnd, record.token, record.abort = state, nil, nil, nil
end

local function isAborted(record, generation)
  local aborted = record.aborted
  if not aborted then return false end
  for i = 1, #aborted, 2 do
    if generation >= aborted[i] and generation <= aborted[i + 1] then return true end
  end
  return false
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

local function keepAbortedAbove(record, generation)
  local aborted = record.aborted
  if not aborted then return end
  local above = {}
  for i = 1, #aborted, 2 do
    if aborted[i + 1] > generation then
      above[#above + 1] = max(aborted[i], generation + 1)
      above[#above + 1] = aborted[i + 1]
    end
  end
  record.aborted = above[1] and above or nil
end
${OWED_COPIES}
-- Makes a generation the job: it waits, and its attempts begin anew.
local function swap(record, born, generation, due, places)
  endRun(record, 'w')
  keepAbortedAbove(record, generation)
  countOwed(record)
  record.born, record.committed, record.due, record.attempt, record.places = born, generation, due, 0, places
  record.counted = generation <= record.opened or nil
end

local function newFence(record)
  return record and max(record.fence + 1, us) or us
end

-- What the keys of a letter's index and of its job's record have in common ends before ':dead'.
local function letterName(key, born)
  return string.sub(key, #KEYS[1] - 4) .. ':' .. born
end

-- While the slot of a tube moves, a call is about one job and names the key of its record only: see redis-tube-ledger.ts.
local function needLetters()
  if KEYS[1] == KEYS[2] then error({ err = 'TRYAGAIN dead letters are not at hand while their slot moves' }) end
end

local function addLetter(key, record, why, err, places)
  needLetters()
  local name = letterName(key, record.born)
  local letter = '{"why":"' .. why .. '","generation":' .. record.committed .. ',"due":' .. record.due ..
    ',"attempt":' .. record.attempt .. ',"died":' .. now .. (err == '' and '' or ',"error":' .. err) .. '}'
  call('ZADD', KEYS[1], now, name)
  call('HSET', KEYS[2], name, letter, name .. ':l', places)
end

local function dropLetter(name)
  needLetters()
  call('ZREM', KEYS[1], name)
  call('HDEL', KEYS[2], name, name .. ':l')
end
`;

/** For scripts whose requests often concern one record: each record is read once, and written once, by `writeAll`. */
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
