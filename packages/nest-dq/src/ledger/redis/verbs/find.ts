import type { Schedule } from '../../requests.js';
import { readSchedule, SCHEDULES } from '../parts/schedules.js';
import { forEachRequest, type RedisVerb } from '../script.js';

/** What jobs are. */
export const find: RedisVerb<string, Schedule | undefined> = {
  fields: {},
  script: `${SCHEDULES}
${forEachRequest({}, 'pushSchedule(scheduleOf(readRecord(key)))')}
return reply
`,
  id: (id) => id,
  read: readSchedule,
};
