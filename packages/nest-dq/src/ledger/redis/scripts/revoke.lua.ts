import { SCHEDULES } from './schedules.lua.js';

/**
 * Forbids further starts. KEYS: dead letters, the records. Arguments, five for each: born or an empty text,
 * due, mask, unknown, abort. Reply for each: 0 unknown, 1 revoked, 2 running, 3 done, 4 dead; 1 if a run was begun, else 0;
 * what was revoked and has no run.
 */
export const REVOKE: string = `${SCHEDULES}
local UNKNOWN, REVOKED, RUNNING, DONE, DEAD = 0, 1, 2, 3, 4

local function revoke(key)
  local born, due, mask, unknown, abort = number(), number(), number(), number(), number() == 1
  local known = readRecord(key)
  local record = known or born and newRecord(born, born, due) or emptyRecord()
  local begun = record.fence > 0 and 1 or 0
  if born and record.born ~= born then return UNKNOWN, begun, nil end
  local state, committed, opened = record.state, record.committed, record.opened
  local isPending = not born and opened > committed and not voided(record, opened)
  -- A revoke by key covers every add that was opened before now; one by a reference none but its own, of which nothing that
  -- is opened comes about once the job is revoked. A run that goes on is not asked for the floor.
  record.floor = born and max(record.floor, committed) or max(committed, opened, record.floor, now)
  keepAbortedAbove(record, record.floor)
  if state == 'd' or state == 'x' then
    writeRecord(key, record)
    return isPending and REVOKED or state == 'd' and DONE or DEAD, begun, nil
  end
  -- An end is remembered for DONE_TTL at least, so without a record this job was never claimed, unless it was due before
  -- that: then it may be done and forgotten, or wait in a backlog. No start from now on, in any case.
  local ended = state == 'u' and 'u' or 'v'
  if isPending then
    ended = 'v'
  elseif committed == -1 and state == 'w' then
    ended = 'u'
  elseif not known and due + DONE_TTL <= now then
    ended = 'u'
  end
  local running, held = isRunning(record) and record.leaseEnd > now, record.holdEnd > now
  local wasAsked, revoked = record.abort, nil
  if running then
    record.state = 'l'
  else
    revoked = scheduleOf(record)
    endRun(record, ended)
    record.places = nil
  end
  record.abort = (running or held) and (wasAsked or abort) or nil
  if committed == born then owe(record, due, mask, unknown) end
  writeRecord(key, record)
  if running or held then return RUNNING, begun, revoked end
  return ended == 'u' and UNKNOWN or REVOKED, begun, revoked
end

for i = 3, #KEYS do
  local result, begun, schedule = revoke(KEYS[i])
  push(result)
  push(begun)
  pushSchedule(schedule)
end
writeAll()
return reply
`;
