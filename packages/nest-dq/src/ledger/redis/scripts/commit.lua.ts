import { SCHEDULES } from './schedules.lua.js';

/**
 * Decides that opened generations are the jobs from now on. KEYS: dead letters, the records. Arguments, for
 * each: the opening; generation, born, due, announced, mask, unknown, places.
 * Reply for each: why it is refused and the present schedule, or an empty text and the replaced one, or 'already' and no
 * schedule. No answers where each is an empty text without a schedule.
 */
export const COMMIT: string = `${SCHEDULES}
local function commit(key)
  local opening = readOpening()
  local generation, born, due, announced = number(), number(), number(), number()
  local mask, unknown, places = number(), number(), text()
  local record = readRecord(key) or emptyRecord()
  if record.committed == generation then
    -- A repeat, or a claim has adopted it.
    confirm(record, due, mask, unknown, places)
    writeRecord(key, record)
    return 'already', nil
  end
  local present = scheduleOf(record)
  local lost = record.committed == -1 -- Redis has lost the record, and what the opening was to replace
  local why = voided(record, generation) or not lost and refusal(record, opening) or nil
  if why then
    if why == 'changed' and mayHaveCounted(record, generation) then why = 'overtaken' end
    giveUp(record, generation, due, announced, mask, unknown)
    writeRecord(key, record)
    return why, present
  end
  local replaced = isLive(record) and present or nil
  if isRunning(record) and record.leaseEnd > now then record.holdEnd = max(record.holdEnd, record.leaseEnd) end
  if opening.by == 'v' then dropLetter(letterName(key, record.born)) end
  local abort = record.abort
  take(record, born, generation, due, announced, mask, unknown, places)
  record.abort = record.holdEnd > now and abort or nil
  writeRecord(key, record)
  return '', replaced
end

local usual = true
for i = 3, #KEYS do
  local why, schedule = commit(KEYS[i])
  usual = usual and why == '' and not schedule
  push(why)
  pushSchedule(schedule)
end
writeAll()
return usual and { 1, us } or reply
`;
