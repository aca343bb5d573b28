import type { ExtendAnswer, RunRef } from '../requests.js';
import { COUNTED_RUN } from '../records/fields.js';
import { LIMITS_OF_RUNS } from '../limits/limits.lua.js';
import { RECORD } from '../records/record.lua.js';
import { codes, namesOf, readCodes, replyCodes, type RedisVerb } from '../script.js';

const ANSWERS: readonly ExtendAnswer[] = ['refused', 'ok', 'abort'];

/** Renews leases. */
export const extend: RedisVerb<RunRef, ExtendAnswer> = {
  fields: COUNTED_RUN,
  script: `${RECORD}${LIMITS_OF_RUNS}
${codes(ANSWERS)}

local function extend(key, ${namesOf(COUNTED_RUN)})
  local record = readRecord(key)
  if not record then
    if now - lastOk >= DONE_TTL then return REFUSED end
    record = madeAnew(generation, born, due, fence, attempt)
  elseif record.fence ~= fence then
    return REFUSED
  elseif generation < record.committed and record.holdEnd > 0 then
    record.holdEnd = now + LEASE
    holdPermit(key, permit, record.holdEnd)
    writeRecord(key, record)
    return record.abort and ABORT or OK
  elseif not isRunning(record) then
    return REFUSED
  end
  record.leaseEnd = now + LEASE
  holdPermit(key, permit, record.leaseEnd)
  writeRecord(key, record)
  return record.abort and ABORT or OK
end
${replyCodes(COUNTED_RUN, 'extend')}
`,
  ...readCodes(ANSWERS),
};
