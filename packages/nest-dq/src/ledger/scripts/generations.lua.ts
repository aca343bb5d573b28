import { PRELUDE } from './prelude.lua.js';

/** For the scripts that open, commit and give up generations; they read and write whole records. */
export const GENERATIONS: string = `${PRELUDE}
-- Of a generation that was never claimed nor revoked; without one, nothing is committed yet.
local function newRecord(generation, born, due)
  return {
    state = 'w', running = false, committed = generation or -1, born = born or -1, due = due or 0, attempt = 0,
    fence = 0, leaseEnd = 0, token = false, owed = '', abort = false,
    floor = -1, opened = -1, aborted = '', holdEnd = 0, places = '',
  }
end

local function writeRecord(key, record)
  local present, absent = { 's', record.state, 'd', record.due, 'n', record.attempt, 'c', record.fence }, {}
  local function field(name, value, default)
    if value == default then
      absent[#absent + 1] = name
    else
      present[#present + 1] = name
      present[#present + 1] = value
    end
  end
  field('g', record.committed, -1)
  field('b', record.born, -1)
  field('e', record.leaseEnd, 0)
  field('t', record.token, false)
  field('w', record.owed, '')
  field('k', record.abort and 1 or 0, 0)
  field('f', record.floor, -1)
  field('o', record.opened, -1)
  field('a', record.aborted, '')
  field('h', record.holdEnd, 0)
  field('l', record.places, '')
  call('HSET', key, unpack(present))
  if #absent > 0 then call('HDEL', key, unpack(absent)) end
  expire(key, record)
end

-- Ends whatever run there was. The fence stays, for it only grows.
local function endRun(record, state)
  record.state, record.running, record.leaseEnd, record.token, record.abort = state, false, 0, false, false
end

-- Makes a generation the job: it waits, and its attempts begin anew.
local function swap(record, born, generation, due, places)
  endRun(record, 'w')
  record.aborted = abortedAbove(record, generation)
  record.born, record.committed, record.due, record.attempt, record.places = born, generation, due, 0, places
end

-- Whether the job waits or runs, so that its key is taken.
local function isLive(record)
  return record.committed ~= -1 and (record.state == 'w' or record.state == 'r')
end

-- Why a generation can no longer be committed, whatever the record is.
local function voided(record, generation)
  if generation <= record.floor then return 'revoked' end
  return (generation < record.committed or isAborted(record, generation)) and 'changed' or nil
end

-- Which of the copies that were about to be stored really may exist.
local function narrow(record, generation, due, mask, unknown)
  record.owed = changeOwed(record.owed, generation, function(oldDue, oldMask, oldUnknown)
    if not oldDue then return due, mask, unknown end
    return max(oldDue, due), bit.band(oldMask, mask), max(oldUnknown, unknown)
  end)
end

-- It is committed already, by an earlier call or by a claim: where its copies are is new all the same.
local function confirm(record, generation, due, mask, unknown, places)
  if isLive(record) then record.places = places end
  narrow(record, generation, due, mask, unknown)
end

-- It does not come about, and no claim may adopt it from now on: its copies can be deleted.
local function giveUp(record, generation, due, mask, unknown)
  if not voided(record, generation) then record.aborted = abortedAlso(record, generation) end
  narrow(record, generation, due, mask, unknown)
end
`;
