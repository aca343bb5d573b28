import { FOR_GOOD, ENDLESS_PAUSE_RETRY_MS, MAX_PAUSES } from './pauses.rule.js';

/**
 * The pauses of a tube, in its control record at `{<tube>}::control`: a MessagePack map with the list `pauses`, which has the
 * start and the end of each in chronological order, in ledger milliseconds. The last one may be the current one. The record
 * expires once no pause in it matters. A part of scripts that start with record.ts.
 *
 * Anything else stored there by another program may have been a pause. So it counts as one that started in 1970 and has no end:
 * no run is granted until somebody resumes the tube, and `nest-dq doctor` warns of it at once, as of any long pause.
 */
export const PAUSES: string = `
local FOR_GOOD, ENDLESS_PAUSE_RETRY, MAX_PAUSES = ${FOR_GOOD}, ${ENDLESS_PAUSE_RETRY_MS}, ${MAX_PAUSES}

local function arePauses(list)
  if type(list) ~= 'table' or #list == 0 or #list % 2 == 1 then return false end
  for _, at in ipairs(list) do
    if type(at) ~= 'number' or not (at > 0 and at <= FOR_GOOD) then return false end
  end
  return true
end

local function readPauses(key)
  local packed = redis.pcall('GET', key)
  if not packed then return {} end
  -- Called again, so that any other failure, such as a missing permission, is raised as everywhere else.
  if type(packed) == 'table' and not string.find(packed.err, 'WRONGTYPE', 1, true) then call('GET', key) end
  local isRead, record = pcall(cmsgpack.unpack, packed)
  local pauses = isRead and type(record) == 'table' and record.pauses
  return arePauses(pauses) and pauses or { 1, FOR_GOOD }
end

-- Start and end of the current pause, 0 for no end; 0 twice if there is none.
local function presentOf(pauses)
  local to = pauses[#pauses]
  if not to or to <= now then return 0, 0 end
  return pauses[#pauses - 1], to == FOR_GOOD and 0 or to
end

-- Merges the two oldest of too many pauses, so that a tube that is paused again and again has a small record.
local function writePauses(key, pauses)
  local kept = {}
  for i = 1, #pauses, 2 do
    if pauses[i + 1] + KEPT_AFTER > now then
      kept[#kept + 1] = pauses[i]
      kept[#kept + 1] = pauses[i + 1]
    end
  end
  while #kept > 2 * MAX_PAUSES do
    table.remove(kept, 2)
    table.remove(kept, 2)
  end
  local to, packed = kept[#kept], cmsgpack.pack({ pauses = kept })
  if to == FOR_GOOD then
    call('SET', key, packed)
  else
    call('SET', key, packed, 'PX', to - now + KEPT_AFTER)
  end
end
`;
