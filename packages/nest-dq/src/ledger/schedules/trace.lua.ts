import type { Trace } from '../requests.js';
import { readFailures } from '../records/failures.js';
import { readProgress } from '../records/progress.js';
import { readSchedule, SCHEDULES } from './schedules.lua.js';
import { replyEach, type RedisVerb } from '../script.js';

/** Reports the schedules of jobs, and who had them last. */
export const trace: RedisVerb<string, Trace | undefined> = {
  fields: {},
  script: `${SCHEDULES}
-- fence, leaseEnd, left, holdEnd, failures, progress, and the schedule; or -1 if there is none.
local function trace(key)
  local record = readRecord(key)
  local schedule = scheduleOf(record)
  if not schedule then return -1 end
  local left = isRunning(record) and record.leaseEnd <= now
  local failures, progress = short(failuresOf(record)), progressOf(record)
  return record.fence, record.leaseEnd, left and 1 or 0, record.holdEnd, failures, progress, valuesOf(schedule)
end
${replyEach({}, 'trace')}
return reply
`,
  read(from) {
    const fence = from.number();
    if (fence < 0) return undefined;
    const [leaseEnd, left, holdEnd] = [from.number(), from.number(), from.number()];
    const failures = readFailures(from.text());
    const progress = readProgress(from.text());
    const schedule = readSchedule(from);
    return schedule && { ...schedule, fence, leaseEnd, left: left === 1, holdEnd, ...failures, ...progress };
  },
};
