import { YOUNG_MS } from '../ledger.js';
import { RECORD } from '../records/record.lua.js';

/** For scripts that open, commit and give up generations. */
export const GENERATIONS: string = `${RECORD}
-- Whether the job waits or runs, so its key is taken.
local function isLive(record)
  return record.committed ~= -1 and (record.state == 'w' or record.state == 'r')
end

-- Why a generation can no longer be committed; nil if it can.
local function voided(record, generation)
  if isAborted(record, generation) then return 'changed' end
  if generation <= record.floor then return 'revoked' end
  return generation < record.committed and 'changed' or nil
end

-- Whether a claim may have committed this generation, and its job run, before a newer one was committed.
local function mayHaveCounted(record, generation)
  return generation < record.committed and not isAborted(record, generation) and now - generation >= ${YOUNG_MS}
end

-- Of the copies an opening announced, only those in the mask may exist. If Redis lost the record since, it has no opening.
local function narrow(record, generation, due, announced, mask, unknown)
  if generation > record.opened then
    count(record, generation, due, mask)
  else
    if record.sum ~= 0 then record.sumDue = max(record.sumDue, due) end
    discount(record, generation, bit.band(announced, bit.bnot(mask)))
  end
  if unknown == 1 then lose(record, due) end
end

-- Makes a stored generation the job.
local function take(record, born, generation, due, announced, mask, unknown, places)
  swap(record, born, generation, due, places)
  if record.counted then
    narrow(record, generation, due, announced, mask, unknown)
  else
    owe(record, due, mask, unknown)
  end
end

-- An earlier call or a claim has committed the generation; only the places of its copies are new.
local function confirm(record, due, mask, unknown, places)
  if isLive(record) then record.places = places end
  owe(record, due, mask, unknown)
end

-- Aborts the generation: no claim may commit it from now on, so its copies can be deleted. If it has no copies, there is nothing
-- to remember.
local function giveUp(record, generation, due, announced, mask, unknown)
  if isAborted(record, generation) then
    if unknown == 1 then lose(record, due) end
    return
  end
  if (mask ~= 0 or unknown ~= 0) and not voided(record, generation) then addAborted(record, generation) end
  narrow(record, generation, due, announced, mask, unknown)
end
`;
