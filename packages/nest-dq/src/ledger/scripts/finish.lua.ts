import { GENERATIONS } from './generations.lua.js';

/**
 * What became of runs. KEYS: dead letters, the records. ARGV after the common ones, for each: generation, born, due,
 * fence, attempt, lastOk, mask, unknown, outcome, and what that needs: d done | b back | w retry, next due |
 * x dead, why, error as JSON, places | g again, generation, due, mask, unknown, places.
 * Reply, one integer each: 0 refused, 1 ok, 2 over.
 */
export const FINISH: string = `${GENERATIONS}
local REFUSED, OK, OVER = 0, 1, 2
local NEEDS = { d = 0, b = 0, w = 1, x = 3, g = 5 }

-- What becomes of the generation as which the job is to go on, and the answer. Its arguments begin at a.
local function again(key, record, a, answer)
  local generation, due = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  local mask, unknown, places = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), ARGV[a + 4]
  if answer ~= OK then
    record = record or newRecord()
    giveUp(record, generation, due, mask, unknown)
  elseif record.committed == generation then
    confirm(record, generation, due, mask, unknown, places)
  else
    swap(record, record.born, generation, due, places)
    narrow(record, generation, due, mask, unknown)
  end
  writeRecord(key, record)
  return answer
end

local function refuse(key, record, a, outcome)
  return outcome == 'g' and again(key, record, a + 9, REFUSED) or REFUSED
end

local function finish(key, a, outcome)
  local generation, due, fence = tonumber(ARGV[a]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3])
  local goesOnAs = outcome == 'g' and tonumber(ARGV[a + 9])
  local record = readRecord(key, goesOnAs or generation)
  -- A repeat, whoever runs it by now.
  if goesOnAs and record and record.committed == goesOnAs then return again(key, record, a + 9, OK) end
  if not record then
    if now - tonumber(ARGV[a + 5]) >= DONE_TTL then return refuse(key, record, a, outcome) end
    record = newRecord(generation, tonumber(ARGV[a + 1]), due)
    record.state, record.running, record.attempt, record.fence = 'r', true, tonumber(ARGV[a + 4]), fence
    call('HSET', key, 'g', generation, 'b', ARGV[a + 1], 'd', due, 'n', ARGV[a + 4], 'c', fence)
  elseif record.fence ~= fence then
    return refuse(key, record, a, outcome)
  elseif generation < record.committed then
    -- It was replaced while it ran, and only held its successor back.
    record.holdEnd, record.abort = 0, false
    call('HDEL', key, 'h', 'k')
    if goesOnAs then return again(key, record, a + 9, OVER) end
    expire(key, record)
    return OVER
  elseif not record.running then
    if record.state == 'v' or record.state == 'u' then return OVER end
    return goesOnAs and refuse(key, record, a, outcome) or OK
  end
  local surfaces = due
  if outcome == 'd' or outcome == 'x' then
    endRun(record, outcome)
  elseif record.state == 'l' then
    endRun(record, 'v')
  elseif goesOnAs then
    if voided(record, goesOnAs) then return refuse(key, record, a, outcome) end
    record.owed = owe(record.owed, generation, due, tonumber(ARGV[a + 6]), tonumber(ARGV[a + 7]))
    return again(key, record, a + 9, OK)
  else
    endRun(record, 'w')
    surfaces = outcome == 'w' and tonumber(ARGV[a + 9]) or now
    record.due = surfaces
    if outcome == 'b' then record.attempt = max(0, record.attempt - 1) end
    call('HSET', key, 'd', surfaces, 'n', record.attempt)
  end
  record.owed = owe(record.owed, generation, surfaces, tonumber(ARGV[a + 6]), tonumber(ARGV[a + 7]))
  call('HSET', key, 's', record.state, 'w', record.owed)
  if record.state == 'w' then
    call('HDEL', key, 'e', 't')
  else
    call('HDEL', key, 'e', 't', 'k', 'l')
    record.places = ''
  end
  if record.state == 'x' then
    addLetter(key, record.born, generation, record.due, record.attempt, ARGV[a + 9], ARGV[a + 10], ARGV[a + 11])
  end
  if goesOnAs then return again(key, record, a + 9, OVER) end
  expire(key, record)
  return record.state == 'v' and OVER or OK
end

local reply = { 1, us }
local a = 5
for i = 1, #KEYS - 2 do
  local outcome = ARGV[a + 8]
  reply[i + 2] = finish(KEYS[i + 2], a, outcome)
  a = a + 9 + NEEDS[outcome]
end
return reply
`;
