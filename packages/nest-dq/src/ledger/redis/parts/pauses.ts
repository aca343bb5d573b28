import { FOR_GOOD, LOOK_AT_PAUSE, MOST_PAUSES } from '../../rules/pauses.js';

/**
 * The pauses of a tube, in its control record at `{<tube>}::control`: a map in MessagePack with the list `pauses`, which has the
 * begin and the end of each in the order of time, in ledger milliseconds. The last one may be the present one. The record expires
 * once no pause in it matters. A part of scripts that begin with record.ts.
 */
export const PAUSES: string = `
local FOR_GOOD, LOOK_AT_PAUSE, MOST_PAUSES = ${FOR_GOOD}, ${LOOK_AT_PAUSE}, ${MOST_PAUSES}

local function readPauses(key)
  local packed = call('GET', key)
  return packed and cmsgpack.unpack(packed).pauses or {}
end

-- When the present pause began and ends, 0 for no end; or two times 0 if there is none.
local function presentOf(pauses)
  local to = pauses[#pauses]
  if not to or to <= now then return 0, 0 end
  return pauses[#pauses - 1], to == FOR_GOOD and 0 or to
end

-- Of too many pauses the two oldest become one. So a tube that is paused again and again has a small record.
local function writePauses(key, pauses)
  local kept = {}
  for i = 1, #pauses, 2 do
    if pauses[i + 1] + KEPT_AFTER > now then
      kept[#kept + 1] = pauses[i]
      kept[#kept + 1] = pauses[i + 1]
    end
  end
  while #kept > 2 * MOST_PAUSES do
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
