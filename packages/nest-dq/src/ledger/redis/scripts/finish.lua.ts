import { GENERATIONS } from './generations.lua.js';

/**
 * What became of runs. KEYS: dead letters, the records. Arguments, for each: generation, born, due,
 * fence, attempt, lastOk, mask, unknown, outcome, and what that needs: d done | b back | w retry, next due |
 * x dead, why, error as JSON, places | g again, l later, generation, due, announced, mask, unknown, places.
 * Reply, nothing if all are ok, else one integer each: 0 refused, 1 ok, 2 over.
 */
export const FINISH: string = `${GENERATIONS}
local REFUSED, OK, OVER = 0, 1, 2
local NEEDS = { d = 0, b = 0, w = 1, x = 3, g = 6, l = 6 }

-- What becomes of the generation as which the job is to go on, and the answer. Its arguments begin at a.
local function again(key, record, a, answer)
  local generation, due, announced = args[a], args[a + 1], args[a + 2]
  local mask, unknown, places = args[a + 3], args[a + 4], args[a + 5]
  if answer ~= OK then
    record = record or emptyRecord()
    giveUp(record, generation, due, announced, mask, unknown)
  elseif record.committed == generation then
    confirm(record, due, mask, unknown, places)
  else
    take(record, record.born, generation, due, announced, mask, unknown, places)
  end
  writeRecord(key, record)
  return answer
end

local function refuse(key, record, a, outcome)
  return (outcome == 'g' or outcome == 'l') and again(key, record, a + 9, REFUSED) or REFUSED
end

local function finish(key, a, outcome)
  local generation, due, fence = args[a], args[a + 2], args[a + 3]
  local later = outcome == 'l'
  local opened = (later or outcome == 'g') and args[a + 9]
  local record = readRecord(key)
  if opened and record and record.committed == opened then
    -- A claim came first: its lease was over.
    if later then return REFUSED end
    -- A repeat, whoever runs it by now.
    return again(key, record, a + 9, OK)
  end
  if not record then
    if now - args[a + 5] >= DONE_TTL then return refuse(key, record, a, outcome) end
    record = madeAnew(generation, args[a + 1], due, fence, args[a + 4])
  elseif record.fence ~= fence then
    return refuse(key, record, a, outcome)
  elseif generation < record.committed then
    -- It was replaced while it ran, and only held its successor back.
    record.holdEnd, record.abort = nil, nil
    if opened then return again(key, record, a + 9, OVER) end
    writeRecord(key, record)
    return OVER
  elseif not isRunning(record) then
    if record.state == 'v' or record.state == 'u' then return OVER end
    return outcome == 'g' and refuse(key, record, a, outcome) or OK
  end
  local leaseUntil, surfaces = record.leaseEnd, due
  if outcome == 'd' or outcome == 'x' then
    endRun(record, outcome)
    record.places = nil
  elseif record.state == 'l' then
    endRun(record, 'v')
    record.places = nil
  elseif outcome == 'g' then
    if voided(record, opened) then return refuse(key, record, a, outcome) end
    owe(record, due, args[a + 6], args[a + 7])
    return again(key, record, a + 9, OK)
  else
    endRun(record, 'w')
    surfaces = outcome == 'w' and args[a + 9] or later and args[a + 10] or now
    record.due = surfaces
    if outcome == 'b' then record.attempt = max(0, record.attempt - 1) end
    if later then record.attempt = 0 end
  end
  owe(record, surfaces, args[a + 6], args[a + 7])
  if opened then
    again(key, record, a + 9, OVER)
    return record.state == 'v' and OVER or OK
  end
  if record.state == 'x' then addLetter(key, record, args[a + 9], args[a + 10], args[a + 11]) end
  writeRecord(key, record, leaseUntil)
  return record.state == 'v' and OVER or OK
end

local answers = {}
local a = 1
for i = 1, #KEYS - 2 do
  local outcome = args[a + 8]
  answers[i] = finish(KEYS[i + 2], a, outcome)
  a = a + 9 + NEEDS[outcome]
end
return replyOf(answers)
`;
