import type { Pause, PauseRequest } from '../requests.js';
import { PAUSES } from './pauses.lua.js';
import { RECORD } from '../records/record.lua.js';
import { namesOf, replyEach, type Fields, type RedisVerb, type ScriptReply } from '../script.js';

/** Parses the values of `presentOf`. */
function readPause(from: ScriptReply): Pause | undefined {
  const [since, until] = [from.number(), from.number()];
  if (since === 0) return undefined;
  return until === 0 ? { since } : { since, until };
}

const PAUSE: Fields<PauseRequest> = { to: ({ until }) => until !== undefined && Math.ceil(until) };

/** Pauses a tube, or changes the end of its pause. */
export const pause: RedisVerb<PauseRequest, Pause | undefined> = {
  fields: PAUSE,
  about: 'control',
  script: `${RECORD}${PAUSES}
local function pause(key, ${namesOf(PAUSE)})
  local pauses = readPauses(key)
  to = to or FOR_GOOD
  if to > now then
    if presentOf(pauses) == 0 then pauses[#pauses + 1] = now else pauses[#pauses] = nil end
    pauses[#pauses + 1] = to
    writePauses(key, pauses)
  end
  return presentOf(pauses)
end
${replyEach(PAUSE, 'pause')}
return reply
`,
  read: readPause,
};

/** Ends the pause of a tube, and returns it. */
export const resume: RedisVerb<object, Pause | undefined> = {
  fields: {},
  about: 'control',
  script: `${RECORD}${PAUSES}
local function resume(key)
  local pauses = readPauses(key)
  local since, till = presentOf(pauses)
  if since ~= 0 then
    pauses[#pauses] = now
    writePauses(key, pauses)
  end
  return since, till
end
${replyEach({}, 'resume')}
return reply
`,
  read: readPause,
};

/** Returns the pause of a tube. */
export const paused: RedisVerb<object, Pause | undefined> = {
  fields: {},
  about: 'control',
  script: `${RECORD}${PAUSES}
local function paused(key)
  return presentOf(readPauses(key))
end
${replyEach({}, 'paused')}
return reply
`,
  read: readPause,
};
