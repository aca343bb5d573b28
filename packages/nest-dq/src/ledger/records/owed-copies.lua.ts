/**
 * Which copies of a job may still exist. The record is kept while one may. A part of record.ts.
 *
 * For a generation that was never opened, such as a plain job's first, the record has a mask: `owed`. For all opened generations
 * it has a single sum, because a key may be replaced thousands of times before its first copy is settled. Each copy has a mark, a
 * 52-bit number computed from its generation and index. An opening adds the marks of the copies it announces. A copy's mark is
 * subtracted if the copy wasn't stored after all, and when it is settled. So a sum of 0 means that no copy is left. A mistake
 * yields another sum: subtracting a copy twice, because its node came back with it, doesn't cancel another copy. The record is
 * then kept as long as possible, which is safe.
 */
export const OWED_COPIES: string = `
-- A prime below 2 ^ 26, so that a Lua number can hold the product of two remainders exactly.
local PRIME = 67108859
local MARKS = PRIME * PRIME

local function markOf(generation, index)
  local x = (generation % PRIME + math.floor(generation / PRIME) * 40503 + index * 7919) % PRIME
  local y = x * x % PRIME
  return y * PRIME + (x * y + x) % PRIME
end

local function marksOf(generation, mask)
  local sum, index = 0, 0
  while mask > 0 do
    if mask % 2 == 1 then sum = (sum + markOf(generation, index)) % MARKS end
    mask, index = math.floor(mask / 2), index + 1
  end
  return sum
end

-- A put got no reply, so its copy may exist. The record remembers this until that copy would be stale.
local function lose(record, due)
  record.lostDue = max(record.lostDue, due)
end

local function count(record, generation, due, mask)
  if mask == 0 then return end
  record.sum = (record.sum + marksOf(generation, mask)) % MARKS
  record.sumDue = max(record.sumDue, due)
end

local function discount(record, generation, mask)
  if mask == 0 or record.sum == 0 then return end
  record.sum = (record.sum - marksOf(generation, mask)) % MARKS
  if record.sum > 0 then return end
  record.sum, record.sumDue = nil, nil
  if record.lostDue ~= 0 then return end
  -- No copy of an opened generation is left, so a late commit must not make one the job.
  record.aborted = nil
  abortOpened(record, record.committed)
end

-- Forgets the copies if the mask is empty and none is unknown.
local function setOwed(record, due, mask, unknown)
  record.owed = (mask ~= 0 or unknown ~= 0) and { due, mask, unknown } or nil
end

-- Records which copies of the committed generation may exist. A settled copy stays settled, although headers still name it.
local function owe(record, due, mask, unknown)
  if record.counted then
    if record.sum ~= 0 then record.sumDue = max(record.sumDue, due) end
    if unknown == 1 then lose(record, due) end
    return
  end
  local owed = record.owed
  if owed then due, mask, unknown = max(owed[1], due), owed[2] == 0 and mask or owed[2], max(owed[3], unknown) end
  setOwed(record, due, mask, unknown)
end

-- Moves the owed copies from the mask to the sum, before another generation is committed.
local function countOwed(record)
  local owed = record.owed
  if not owed then return end
  count(record, record.committed, owed[1], owed[2])
  if owed[3] == 1 then lose(record, owed[1]) end
  record.owed = nil
end

-- The copies in the mask are gone for good. Returns false if nothing changes.
local function settle(record, generation, mask, unknown)
  if generation == record.committed and not record.counted then
    local owed = record.owed
    if not owed and unknown == 0 then return false end
    local due, oldMask, oldUnknown = record.due, 0, 0
    if owed then due, oldMask, oldUnknown = owed[1], owed[2], owed[3] end
    setOwed(record, due, bit.band(oldMask, bit.bnot(mask)), max(oldUnknown, unknown))
    return true
  end
  if record.sum == 0 and unknown == 0 then return false end
  if unknown == 1 then lose(record, max(record.sumDue, record.due)) end
  discount(record, generation, mask)
  return true
end
`;
