import { RECORD } from '../records/record.lua.js';
import type { ProgressRequest } from '../requests.js';
import { namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';

const FIELDS: Fields<ProgressRequest> = {
  fence: 'fence',
  text: ({ progress }) => JSON.stringify(progress),
};

/** Keeps the progress of runs with their records; has no answer. */
export const progress: RedisVerb<ProgressRequest, void> = {
  fields: FIELDS,
  script: `${RECORD}
local function progress(key, ${namesOf(FIELDS)})
  local record = readRecord(key)
  if not record or record.fence ~= fence or not isRunning(record) then return end
  record.progress = { fence, text }
  call('SET', key, cmsgpack.pack(record), 'KEEPTTL')
end
${replyEach(FIELDS, 'progress')}
return reply
`,
  read: () => undefined,
};
