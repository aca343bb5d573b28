/**
 * Which copies of a job may still exist: until none may, its record is kept. A part of record.ts.
 *
 * Of a generation that was never opened, such as a plain job's first, the record has a mask, in `owed`. Of all that were
 * opened together it has one sum, however many they are: a key may be replaced thousands of times before the first of its
 * copies is settled. Each copy has a mark, a number of 52 bits that its generation and index make. An opening adds the marks
 * of the copies that it announces; what was not stored after all, and what is settled, is taken off. So a sum of 0 says that
 * no copy is left. What goes wrong leaves the sum at another number: a copy that is taken off twice, as its node came back
 * with it, does not pass for another one. The record then stays for the longest time, which is safe.
 */
export const OWED_COPIES: string = `
-- A prime below 2 ^ 26: no product of two remainders is beyond the integers that a number holds.
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

-- That a copy of unknown fate may exist is never forgotten, until it would be stale.
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
  -- There is no copy left that would have to be told that it was given up.
  if record.lostDue == 0 then record.aborted = nil end
end

-- What is neither in the mask nor unknown is dropped.
local function setOwed(record, due, mask, unknown)
  record.owed = (mask ~= 0 or unknown ~= 0) and { due, mask, unknown } or nil
end

-- Of the committed generation. What is settled already stays settled, although a header goes on naming every copy.
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

-- From the mask to the sum: another generation is about to be the committed one.
local function countOwed(record)
  local owed = record.owed
  if not owed then return end
  count(record, record.committed, owed[1], owed[2])
  if owed[3] == 1 then lose(record, owed[1]) end
  record.owed = nil
end

-- The copies of the mask are gone for good. False if that changes nothing.
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
