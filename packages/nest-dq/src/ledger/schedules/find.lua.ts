import type { Schedule } from '../requests.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { replyEach, type RedisVerb } from '../script.js';

/** Reports the schedules of jobs. */
export const find: RedisVerb<string, Schedule | undefined> = {
  fields: {},
  script: `${SCHEDULES}
local function find(key)
  return valuesOf(scheduleOf(readRecord(key)))
end
${replyEach({}, 'find')}
return reply
`,
  read: readSchedule,
};
