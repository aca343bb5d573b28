import { GENERATIONS } from './generations.lua.js';
import { PRELUDE } from './prelude.lua.js';

const READ = `
local reply = { 1, us }

-- A letter as three: its name, its JSON text, its places; the texts are empty where there is none.
local function push(name)
  local found = name and call('HMGET', KEYS[2], name, name .. ':l') or { false }
  local r = #reply
  reply[r + 1], reply[r + 2], reply[r + 3] = name or '', found[1] or '', found[2] or ''
  return found[1], found[2]
end
`;

/**
 * A page of dead letters, newest first. KEYS: dead letters. Arguments: limit; time of death and name of the
 * letter behind which it begins, or empty texts. Reply: 1 if there are more, the letters.
 */
export const LETTERS: string = `${PRELUDE}${READ}
-- By bytes, as the index is ordered; the operator would go by the server's locale.
local function isLess(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- How many stand before those behind this place. Many may have died in the same millisecond: they stand in descending
-- order of their names, so the place is found by halving.
local function ranksBefore(died, name)
  local low, high = call('ZCOUNT', KEYS[1], '(' .. died, '+inf'), call('ZCOUNT', KEYS[1], died, '+inf')
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isLess(call('ZREVRANGE', KEYS[1], middle, middle)[1], name) then high = middle else low = middle + 1 end
  end
  return low
end

local limit, died, name = args[1], args[2], args[3]
local first = died == '' and 0 or ranksBefore(died, name)
local names = call('ZREVRANGE', KEYS[1], first, first + limit)
reply[3] = #names > limit and 1 or 0
for i = 1, math.min(limit, #names) do push(names[i]) end
return reply
`;

const NAMED = `${READ}
-- The letter of this generation, or of the present one if that is dead; nil if there is none.
local function nameOf(key, born)
  if born == '' then
    local record = readRecord(key)
    if not record or record.state ~= 'x' then return nil end
    born = record.born
  end
  return letterName(key, born)
end
`;

/** Dead letters. KEYS: dead letters, the records. Arguments, one each: born or an empty text. Reply: the letters. */
export const LETTER: string = `${PRELUDE}${NAMED}
for i = 3, #KEYS do push(nameOf(KEYS[i], args[i - 2])) end
return reply
`;

/** Takes dead letters away. KEYS, arguments and reply as of LETTER. */
export const DISCARD: string = `${GENERATIONS}${NAMED}
local function oweAll(record, places)
  local mask, unknown = 0, 0
  for index, location in string.gmatch(places, ' (%d+)=(%S+)') do
    mask = bit.bor(mask, bit.lshift(1, index))
    if string.sub(location, -2) == ':?' then unknown = 1 end
  end
  owe(record, record.due, mask, unknown)
end

for i = 3, #KEYS do
  local key = KEYS[i]
  local name = nameOf(key, args[i - 2])
  local letter, places = push(name)
  if letter then
    dropLetter(name)
    local record = readRecord(key)
    if record and record.state == 'x' and letterName(key, record.born) == name then
      endRun(record, 'v')
      oweAll(record, places)
      writeRecord(key, record)
    end
  end
end
return reply
`;

/** Where copies of dead jobs are. KEYS: dead letters, the records. Arguments, two each: born, places. */
export const BURIED: string = `${PRELUDE}
for i = 3, #KEYS do
  local a = i * 2 - 5
  local name = letterName(KEYS[i], args[a])
  if call('HEXISTS', KEYS[2], name) == 1 then
    local places = call('HGET', KEYS[2], name .. ':l') or ''
    for index, location in string.gmatch(args[a + 1], ' (%d+)=(%S+)') do
      if not string.find(places, ' ' .. index .. '=', 1, true) then
        places = places .. ' ' .. index .. '=' .. location
      end
    end
    call('HSET', KEYS[2], name .. ':l', places)
  end
end
return { 1, us }
`;
