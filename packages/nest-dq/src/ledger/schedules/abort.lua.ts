import type { AbortAnswer, AbortRequest } from '../requests.js';
import { ANNOUNCED } from '../records/fields.js';
import { SCHEDULES } from './schedules.lua.js';
import { codes, namesOf, replyEach, type RedisVerb } from '../script.js';

const ANSWERS: readonly AbortAnswer[] = ['aborted', 'started', 'full'];

/** Aborts opened generations. */
export const abort: RedisVerb<AbortRequest, AbortAnswer> = {
  fields: ANNOUNCED,
  script: `${SCHEDULES}
${codes(ANSWERS)}
-- Max groups of aborted generations a record remembers: any number of adds with one key may fail.
local MOST_ABORTED = 16

local function abort(key, ${namesOf(ANNOUNCED)})
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
${replyEach(ANNOUNCED, 'abort')}
writeAll()
return reply
`,
  read: (from) => from.entry(ANSWERS),
};
