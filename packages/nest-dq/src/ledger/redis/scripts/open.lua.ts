import { SCHEDULES } from './schedules.lua.js';

/**
 * Asks for next generations. KEYS: dead letters, the records. Arguments, for each: the opening; due, announced;
 * the present generation or an empty text, and with it born, due, mask, unknown, places.
 * Reply for each: why it is refused, or an empty text, and the present schedule; the generation, or 0.
 */
export const OPEN: string = `${SCHEDULES}
local function open(key)
  local opening = readOpening()
  local by = opening.by
  local due, announced = number(), number()
  local known, knownDue, knownMask, knownUnknown = number(), nil, nil, nil
  local record = readRecord(key)
  if known then
    local born = number()
    knownDue, knownMask, knownUnknown = number(), number(), number()
    local places = text()
    if not record and by == 'm' then
      record = newRecord(known, born, knownDue)
      record.places = places
    end
  end
  if not record and by == 'a' then record = emptyRecord() end
  if not record and by == 'g' and now - opening.lastOk < DONE_TTL then
    record = madeAnew(opening.generation, opening.born, opening.due, opening.fence, opening.attempt)
  end
  if not record then return 'unknown', nil, 0 end
  local present = scheduleOf(record)
  local why = refusal(record, opening)
  if why then return why, present, 0 end
  local generation = max(record.committed + 1, record.opened + 1, record.floor + 1, now)
  record.opened = generation
  -- A sign of life: the copies are about to be stored, and meanwhile nobody else may start.
  if by == 'g' then record.leaseEnd = now + LEASE end
  if known == record.committed then owe(record, knownDue, knownMask, knownUnknown) end
  count(record, generation, due, announced)
  local live = isLive(record)
  writeRecord(key, record)
  return '', live and present or nil, generation
end

for i = 3, #KEYS do
  local why, present, generation = open(KEYS[i])
  push(why)
  pushSchedule(present)
  push(generation)
end
writeAll()
return reply
`;
