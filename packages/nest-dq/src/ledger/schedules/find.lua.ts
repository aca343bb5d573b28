import type { Schedule } from '../requests.js';
import { readProgress } from '../records/progress.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { replyEach, type RedisVerb } from '../script.js';

/** Reports the schedules of jobs. */
export const find: RedisVerb<string, Schedule | undefined> = {
  fields: {},
  script: `${SCHEDULES}
-- Progress, and the schedule.
local function find(key)
  local record = readRecord(key)
  return progressOf(record), valuesOf(scheduleOf(record))
end
${replyEach({}, 'find')}
return reply
`,
  read(from) {
    const progress = readProgress(from.text());
    const schedule = readSchedule(from);
    return schedule && { ...schedule, ...progress };
  },
};
