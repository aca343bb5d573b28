import { SCHEDULES } from './schedules.lua.js';

/** What jobs are. KEYS: dead letters, the records. Reply for each: its schedule. */
export const FIND: string = `${SCHEDULES}
for i = 3, #KEYS do pushSchedule(scheduleOf(readRecord(KEYS[i]))) end
return reply
`;
