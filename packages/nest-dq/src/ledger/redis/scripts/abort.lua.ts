import { SCHEDULES } from './schedules.lua.js';

/**
 * Takes opened generations back. KEYS: dead letters, the records. Arguments, five for each: generation, due,
 * announced, mask, unknown. Reply, one integer each: 0 aborted, 1 started, 2 full.
 */
export const ABORT: string = `${SCHEDULES}
local ABORTED, STARTED, FULL = 0, 1, 2
-- Runs of aborted generations that a record remembers: adds of a key that fail one after the other are no end of them.
local MOST_ABORTED = 16

local function abort(key)
  local generation, due, announced, mask, unknown = number(), number(), number(), number(), number()
  local record = readRecord(key) or emptyRecord()
  if record.committed == generation or mayHaveCounted(record, generation) then return STARTED end
  local full = record.aborted and #record.aborted >= 2 * MOST_ABORTED
  if full and (mask ~= 0 or unknown ~= 0) and not voided(record, generation) then
    narrow(record, generation, due, announced, mask, unknown)
    writeRecord(key, record)
    return FULL
  end
  giveUp(record, generation, due, announced, mask, unknown)
  writeRecord(key, record)
  return ABORTED
end

for i = 3, #KEYS do push(abort(KEYS[i])) end
writeAll()
return reply
`;
