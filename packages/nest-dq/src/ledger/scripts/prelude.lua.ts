/**
 * What every script of the ledger begins with: the time, the latest acting time, and the record of a job.
 *
 * The record is a hash at `{<tube>}:<id>`. Numbers are decimal texts, times are ledger milliseconds; the value
 * in brackets is that of an absent field.
 *
 *  1. `s`  state: w waiting, r running, l running for the last time (revoked meanwhile: no further start), d done,
 *          v revoked, u revoked when nothing was known of it (its end may be long over), x dead
 *  2. `g`  the committed generation [-1: none]
 *  3. `d`  when it is due: the retry's own time while it waits for one
 *  4. `n`  attempt: how many runs were begun and count [0]
 *  5. `c`  fence of the last run [0]
 *  6. `e`  end of the lease; only while it runs
 *  7. `t`  token of the claim that was given the run; only while it runs, and not in a record that was made anew
 *  8. `w`  owed copies: `generation:due:mask:unknown` for each generation that has some, joined by commas
 *  9. `b`  born: the generation of the add [-1]
 * 10. `f`  floor: this generation and all older ones are void [-1]
 * 11. `o`  the opened generation [-1]
 * 12. `a`  aborted generations above the floor, joined by commas
 * 13. `h`  hold: until then a replaced run goes on, under the fence [0]
 * 14. `l`  places of the copies, as formatPlaces writes them; of keyed and moved jobs, until they end
 * 15. `k`  1 while the run of state l, or the one that holds, is asked to stop
 *
 * 9 to 15 are read only where a generation other than 0 is involved, for they say nothing about generation 0 that its
 * state does not say (k aside), and reading them takes as long as reading the others.
 *
 * Beside the records of a tube stand its dead letters, each named `<id>:<born>`:
 *  - `{<tube>}::dead`, a sorted set: their names by time of death
 *  - `{<tube>}::letters`, a hash: under the name a JSON text, under `<name>:l` the places
 *
 * To change this: a field that is only added needs a value for its absence, and nothing else. A field that changes its
 * meaning gets a new name, and for one minor version the scripts read both: processes of two versions share the records.
 *
 * A fence has 16 digits, and tostring, `..` and cjson keep 14: write it only as an argument of redis.call, which keeps
 * all, or by string.format('%.0f', fence). Generations and times have 13.
 * Scripts touch KEYS only: the first two are the tube's dead letters, then come the records. Every reply is a flat list of
 * integers and texts; the first is 1 if the script acted and 0 if it came too late, the second the server's time in
 * microseconds.
 */
export const PRELUDE: string = `
local call, tonumber, max = redis.call, tonumber, math.max
local time = call('TIME')
local us = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = math.floor(us / 1000)
if now > tonumber(ARGV[1]) then return { 0, us } end
local LEASE, DONE_TTL, STALE_AFTER = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

-- Owed copies are kept as their text, and taken apart only where it must change.
local function owedAs(generation, due, mask, unknown)
  return generation .. ':' .. due .. ':' .. mask .. ':' .. unknown
end

-- Calls change(due, mask, unknown) for the generation (with nothing if it owes nothing yet), which returns the new
-- three, or nothing to leave it as it is; what is neither in the mask nor unknown is dropped.
local function changeOwed(owed, generation, change)
  local entries, found = {}, false
  local function add(g, due, mask, unknown)
    if mask ~= 0 or unknown ~= 0 then entries[#entries + 1] = owedAs(g, due, mask, unknown) end
  end
  for g, due, mask, unknown in string.gmatch(owed, '(%d+):(%d+):(%d+):(%d)') do
    g, due, mask, unknown = tonumber(g), tonumber(due), tonumber(mask), tonumber(unknown)
    if g == generation then
      found = true
      due, mask, unknown = change(due, mask, unknown)
    end
    add(g, due, mask, unknown)
  end
  if not found then
    local due, mask, unknown = change()
    if due then add(generation, due, mask, unknown) end
  end
  return table.concat(entries, ',')
end

-- What is settled already stays settled, although a header goes on naming every copy.
local function owe(owed, generation, due, mask, unknown)
  if owed == '' then return (mask ~= 0 or unknown ~= 0) and owedAs(generation, due, mask, unknown) or '' end
  return changeOwed(owed, generation, function(oldDue, oldMask, oldUnknown)
    if not oldDue then return due, mask, unknown end
    return max(oldDue, due), oldMask == 0 and mask or oldMask, max(oldUnknown, unknown)
  end)
end

local function isAborted(record, generation)
  return record.aborted ~= '' and string.find(',' .. record.aborted .. ',', ',' .. generation .. ',', 1, true)
end

local function abortedAlso(record, generation)
  return record.aborted == '' and tostring(generation) or record.aborted .. ',' .. generation
end

local function abortedAbove(record, generation)
  local above = {}
  for each in string.gmatch(record.aborted, '%d+') do
    if tonumber(each) > generation then above[#above + 1] = each end
  end
  return table.concat(above, ',')
end

-- The record as the generation (of a copy or a run) needs it, the whole one without; nil if there is none.
local function readRecord(key, generation)
  local field = call('HMGET', key, 's', 'g', 'd', 'n', 'c', 'e', 't', 'w')
  if not field[1] then return nil end
  local record = {
    state = field[1],
    running = field[1] == 'r' or field[1] == 'l',
    committed = tonumber(field[2]) or -1,
    due = tonumber(field[3]) or 0,
    attempt = tonumber(field[4]) or 0,
    fence = tonumber(field[5]) or 0,
    leaseEnd = tonumber(field[6]) or 0,
    token = field[7],
    owed = field[8] or '',
    abort = false, born = 0, floor = -1, opened = -1, aborted = '', holdEnd = 0, places = '',
  }
  if record.committed ~= 0 or generation ~= 0 then
    field = call('HMGET', key, 'b', 'f', 'o', 'a', 'h', 'l', 'k')
    record.born = tonumber(field[1]) or -1
    record.floor = tonumber(field[2]) or -1
    record.opened = tonumber(field[3]) or -1
    record.aborted = field[4] or ''
    record.holdEnd = tonumber(field[5]) or 0
    record.places = field[6] or ''
    record.abort = field[7] == '1'
  elseif record.state == 'l' then
    record.abort = call('HGET', key, 'k') == '1'
  end
  return record
end

local function expire(key, record)
  local state = record.state
  if state == 'x' then
    call('PERSIST', key)
    return
  end
  local ended = state == 'd' or state == 'v' or state == 'u' or record.committed == -1
  if ended and record.owed == '' and record.holdEnd <= now then
    call('PEXPIREAT', key, now + DONE_TTL)
    return
  end
  local last = max(now, record.due, record.leaseEnd, record.holdEnd)
  for due in string.gmatch(record.owed, '%d+:(%d+):%d+:%d') do
    last = max(last, tonumber(due))
  end
  call('PEXPIREAT', key, last + STALE_AFTER + 60000)
end

local function newFence(record)
  return record and max(record.fence + 1, us) or us
end

-- What the keys of a letter's index and of its job's record have in common ends before ':dead'.
local function letterName(key, born)
  return string.sub(key, #KEYS[1] - 4) .. ':' .. born
end

local function addLetter(key, born, generation, due, attempts, why, err, places)
  local name = letterName(key, born)
  local letter = '{"why":"' .. why .. '","generation":' .. generation .. ',"due":' .. due ..
    ',"attempts":' .. attempts .. ',"died":' .. now .. (err == '' and '' or ',"error":' .. err) .. '}'
  call('ZADD', KEYS[1], now, name)
  call('HSET', KEYS[2], name, letter, name .. ':l', places)
end

local function dropLetter(name)
  call('ZREM', KEYS[1], name)
  call('HDEL', KEYS[2], name, name .. ':l')
end

-- The copies of the mask are gone for good. That a copy of unknown fate may exist is learned and never forgotten.
local function settle(key, generation, mask, unknown)
  local record = readRecord(key, generation)
  if not record then return end
  local owed = changeOwed(record.owed, generation, function(due, oldMask, oldUnknown)
    if due then return due, bit.band(oldMask, bit.bnot(mask)), max(oldUnknown, unknown) end
    if unknown == 1 then return record.due, 0, 1 end
  end)
  if owed == record.owed then return end
  record.owed = owed
  if owed == '' then call('HDEL', key, 'w') else call('HSET', key, 'w', owed) end
  expire(key, record)
end
`;
