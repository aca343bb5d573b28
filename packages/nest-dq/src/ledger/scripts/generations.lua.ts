import { YOUNG } from '../ledger.js';
import { PRELUDE } from './prelude.lua.js';

/** For the scripts that open, commit and give up generations. */
export const GENERATIONS: string = `${PRELUDE}
-- Whether the job waits or runs, so that its key is taken.
local function isLive(record)
  return record.committed ~= -1 and (record.state == 'w' or record.state == 'r')
end

-- Why a generation can no longer be committed, whatever the record is.
local function voided(record, generation)
  if generation <= record.floor then return 'revoked' end
  return (generation < record.committed or isAborted(record, generation)) and 'changed' or nil
end

-- Whether a claim may have committed it, and run it, before a newer one was committed.
local function mayHaveCounted(record, generation)
  return generation < record.committed and not isAborted(record, generation) and now - generation >= ${YOUNG}
end

-- Which of the copies that were about to be stored really may exist.
local function narrow(record, generation, due, mask, unknown)
  local i, oldDue, oldMask, oldUnknown = owedOf(record, generation)
  if oldDue then due, mask, unknown = max(oldDue, due), bit.band(oldMask, mask), max(oldUnknown, unknown) end
  setOwed(record, i, generation, due, mask, unknown)
end

-- It is committed already, by an earlier call or by a claim: where its copies are is new all the same.
local function confirm(record, generation, due, mask, unknown, places)
  if isLive(record) then record.places = places end
  narrow(record, generation, due, mask, unknown)
end

-- It does not come about, and no claim may adopt it from now on: its copies can be deleted.
local function giveUp(record, generation, due, mask, unknown)
  if not voided(record, generation) then addAborted(record, generation) end
  narrow(record, generation, due, mask, unknown)
end
`;
