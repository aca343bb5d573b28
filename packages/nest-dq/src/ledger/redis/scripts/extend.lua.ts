import { PRELUDE } from './prelude.lua.js';

/**
 * Renews leases. KEYS: dead letters, the records. Arguments, six for each: generation, born, due, fence,
 * attempt, lastOk. Reply, nothing if all are ok, else one integer each: 0 refused, 1 ok,
 * 2 ok and the handler is asked to stop.
 */
export const EXTEND: string = `${PRELUDE}
local REFUSED, OK, ABORT = 0, 1, 2

local function extend(key, a)
  local generation, fence = args[a], args[a + 3]
  local record = readRecord(key)
  if not record then
    if now - args[a + 5] >= DONE_TTL then return REFUSED end
    record = madeAnew(generation, args[a + 1], args[a + 2], fence, args[a + 4])
  elseif record.fence ~= fence then
    return REFUSED
  elseif generation < record.committed and record.holdEnd > 0 then
    record.holdEnd = now + LEASE
    writeRecord(key, record)
    return record.abort and ABORT or OK
  elseif not isRunning(record) then
    return REFUSED
  end
  record.leaseEnd = now + LEASE
  writeRecord(key, record)
  return record.abort and ABORT or OK
end

local answers = {}
for i = 1, #KEYS - 2 do answers[i] = extend(KEYS[i + 2], i * 6 - 5) end
return replyOf(answers)
`;
