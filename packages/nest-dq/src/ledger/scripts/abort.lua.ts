import { SCHEDULES } from './schedules.lua.js';

/**
 * Takes opened generations back. KEYS: dead letters, the records. Arguments, four for each: generation, due,
 * mask, unknown. Reply, one integer each: 0 aborted, 1 started.
 */
export const ABORT: string = `${SCHEDULES}
local ABORTED, STARTED = 0, 1

local function abort(key)
  local generation, due, mask, unknown = number(), number(), number(), number()
  local record = readRecord(key) or emptyRecord()
  if record.committed == generation or mayHaveCounted(record, generation) then return STARTED end
  giveUp(record, generation, due, mask, unknown)
  writeRecord(key, record)
  return ABORTED
end

for i = 3, #KEYS do push(abort(KEYS[i])) end
return reply
`;
