import { AHEAD_MS, YOUNG_MS } from '../ledger.js';
import type { LimitKind } from '../limits/limits.js';
import type { ClaimAnswer, ClaimRequest } from '../requests.js';
import { CLAIM_LIMITS } from '../limits/limits.lua.js';
import { PAUSES } from '../pauses/pauses.lua.js';
import { OWED, tableOf } from '../records/fields.js';
import { RECORD } from '../records/record.lua.js';
import { RELISTING } from '../waiting/waiting.lua.js';
import { codes, namesOf, replyEach, type Fields, type RedisVerb } from '../script.js';
import { settleFrom } from '../records/settle.lua.js';

const FIELDS: Fields<ClaimRequest> = {
  generation: 'generation',
  born: 'born',
  due: ({ due }) => Math.ceil(due),
  token: 'token',
  attempts: 'attempts',
  permit: 'permit',
  expiry: ({ expiry }) => expiry && { by: expiry.startBy, letter: expiry.letter, ...tableOf(OWED, expiry) },
};

/** `first`: a first run. Its fence is the server's time in this reply, and it is due when the request says so. */
const KINDS = [
  'gone',
  'run',
  'wait',
  'busy',
  'dead',
  'stale',
  'first',
  'paused',
  'limited',
  'expired',
] as const;
const LIMIT_KINDS: readonly LimitKind[] = ['concurrency', 'group', 'rate'];

/** Decides who runs jobs now. */
const SCRIPT = `${RECORD}${RELISTING}${PAUSES}
${codes(KINDS)}
${codes(LIMIT_KINDS)}
local AHEAD, YOUNG = ${AHEAD_MS}, ${YOUNG_MS}
local context = args[2]
${CLAIM_LIMITS}
-- In ms. A caller waiting for a replaced run or a spared lease to end polls at this interval, because nothing signals its end.
local LOOK = 1000

-- Makes the job a dead letter. The new fence makes calls of its last run fail.
local function bury(key, why, record)
  local places = record.places
  endRun(record, 'x')
  -- If no run has reported its copies, an unknown one may come back with its node long after the letter is gone.
  local toldOf = record.owed or record.counted
  if why == 'attempts' and not toldOf then owe(record, record.due, 0, 1) end
  record.fence, record.places = newFence(record), nil
  addLetter(key, record, why, '', places)
  writeRecord(key, record)
end

-- Ends a job that has not started in time. The new fence makes calls of its last run fail.
local function expire(key, record, expiry)
  owe(record, record.due, expiry.mask, expiry.unknown)
  if expiry.letter then
    bury(key, 'expired', record)
    return EXPIRED, 1
  end
  endRun(record, 'v')
  record.expired, record.fence, record.places = true, newFence(record), nil
  writeRecord(key, record)
  return EXPIRED, 0
end

-- Grants the first run of a plain job if it has no record, the case of nearly all claims. Returns false if it has one. Reads no
-- record, which saves a fifth of the script's time.
local function claimFirst(key, due, token)
  local record = { state = 'r', due = due, attempt = 1, fence = newFence(nil), leaseEnd = now + LEASE, token = token }
  return call('SET', key, cmsgpack.pack(record), 'NX', 'PX', LEASE + KEPT_AFTER)
end

-- Pauses are not checked while the slot of the tube is migrating.
local pauses = hasTubeKeys and readPauses(CONTROL) or {}
-- Time until asking again makes sense, in ms; nil if the tube is not paused.
local pausedFor
if presentOf(pauses) ~= 0 then
  pausedFor = pauses[#pauses] == FOR_GOOD and ENDLESS_PAUSE_RETRY or pauses[#pauses] - now
end

-- How much of the time since then does not make a job stale. If this exceeded STALE_AFTER, a leftover copy of a job that ended
-- and was forgotten would run.
local function forgiven(due)
  local sum = 0
  for i = 1, #pauses, 2 do
    sum = sum + max(0, math.min(pauses[i + 1], now) - max(pauses[i], due))
  end
  return math.min(sum, STALE_AFTER)
end

local sparedFrom = context.sparedFrom
local isLimited = limits.interval or limits.concurrency or limits.perGroup

local function claim(key, ${namesOf(FIELDS)})
  local plain = generation == 0 and born == 0
  local quick = plain and not pausedFor and not isLimited and due <= now + AHEAD and due + STALE_AFTER >= now
    and (not expiry or now < expiry.by)
  if quick and claimFirst(key, due, token) then
    unlist(key)
    return FIRST
  end
  local record = readRecord(key)
  local committed = record and record.committed or -1
  local current = record and generation == committed
  local running = record and isRunning(record)
  if record then
    if isOver(record, generation) then
      if current then unlist(key) end
      return GONE
    end
    if current and record.state == 'x' then return DEAD, 0 end
  end
  -- A generation's number is the time at which it was opened.
  local age = now - generation
  if generation > committed and age < YOUNG then
    return WAIT, math.min(500, max(20, math.abs(age)))
  end
  local runDue, attempt = due, 0
  if record then
    -- A job added after the committed generation was not moved from that one: Redis has lost its add.
    local moved = not current and committed ~= -1 and born ~= generation and born <= committed
    local leased = max(record.leaseEnd, record.holdEnd)
    local left = leased - now
    local last = record.state == 'l'
    if running and current and record.token == token and (left > 0 or not last) then
      record.leaseEnd = now + LEASE
      holdPermit(key, permit, record.leaseEnd)
      writeRecord(key, record)
      return RUN, record.fence, record.attempt, record.due, 0, record.startBy or 0
    end
    local spared = left <= 0 and leased > 0 and sparedFrom and leased >= sparedFrom
    if (left > 0 or spared) and not (moved and record.born ~= born) then
      if spared then
        left = LOOK
      elseif record.leaseEnd <= now then
        left = math.min(left, LOOK)
      end
      return BUSY, left, max(0, math.floor((us - record.fence) / 1000))
    end
    if current and last then
      endRun(record, 'v')
      writeRecord(key, record)
      return GONE
    end
    -- No run has a lease here. Redis may have lost the Again of a run (state r) or the revival of a dead job (state x).
    local state = record.state
    local rests = state == 'w' or state == 'r' or state == 'x'
    if moved and not (rests and record.born == born) then
      -- The process that moved the job ended before the commit. The old generation has ended, or the key has another job.
      addAborted(record, generation) -- because a commit may still arrive after the copies are gone
      writeRecord(key, record)
      return GONE
    end
    if current then runDue, attempt = record.due, record.attempt end
  end
  if runDue > now + AHEAD then return WAIT, runDue - now end
  if pausedFor then return PAUSED, pausedFor end
  -- Before the limits, so that expired jobs use up no turn, and before its age, because an expired job needs nobody.
  local startBy = expiry and (current and record.startBy or expiry.by)
  if startBy and max(now, runDue) >= startBy and attempt < attempts then
    record = record or newRecord(generation, born, due)
    if record.committed ~= generation then
      if record.state == 'x' and record.born == born then dropLetter(letterName(key, born)) end
      swap(record, born, generation, due, nil)
    end
    return expire(key, record, expiry)
  end
  -- An ended record may stem from an older copy, which created it after everything was forgotten, so it does not know this
  -- generation. Nor does one created by the opening of another.
  local knows = record and (committed ~= -1 or wasOpened(record, generation))
  local live = knows and (record.state == 'w' or isRunning(record))
  if not current and not live and due + STALE_AFTER + forgiven(due) < now then
    record = record or newRecord(generation, born, due)
    if record.committed ~= generation then swap(record, born, generation, due, nil) end
    bury(key, 'stale', record)
    return STALE
  end
  local fence = newFence(record)
  record = record or newRecord(generation, born, due)
  if attempt >= attempts then
    bury(key, 'attempts', record)
    return DEAD, 1
  end
  local why, waitFor = limitedBy(permit)
  if why then return LIMITED, why, waitFor end
  if record.committed ~= generation then
    -- The first run commits a newer generation, so a lost commit does not lose the job.
    if record.state == 'x' and record.born == born then dropLetter(letterName(key, born)) end
    swap(record, born, generation, due, nil)
  end
  -- This schedule takes effect. One that was about to replace it must not, or both would run.
  abortOpened(record, committed)
  attempt = attempt + 1
  record.state, record.attempt, record.fence, record.leaseEnd, record.token = 'r', attempt, fence, now + LEASE, token
  holdPermit(key, permit, record.leaseEnd)
  record.abort, record.progress = nil, nil
  writeRecord(key, record)
  return RUN, fence, attempt, runDue, takeTurn(), record.startBy or 0
end
${replyEach(FIELDS, 'claim')}
writeIndex()
${settleFrom('HEAD + args[1] + 1')}
return reply
`;

export const claim: RedisVerb<ClaimRequest, ClaimAnswer> = {
  fields: FIELDS,
  script: SCRIPT,
  read(from, { due }) {
    const kind = from.entry(KINDS);
    switch (kind) {
      case 'run': {
        const run = { kind, fence: from.number(), attempt: from.number(), due: from.number() };
        const [notBefore, startBy] = [from.number(), from.number()];
        return { ...run, ...(notBefore > run.due && { notBefore }), ...(startBy > 0 && { startBy }) };
      }
      case 'wait':
      case 'paused':
        return { kind, ms: from.number() };
      case 'limited':
        return { kind, by: from.entry(LIMIT_KINDS), ms: from.number() };
      case 'busy':
        return { kind, ms: from.number(), ranFor: from.number() };
      case 'dead':
        return { kind, fresh: from.number() === 1 };
      case 'expired':
        return { kind, letter: from.number() === 1 };
      case 'first':
        return { kind: 'run', fence: from.time, attempt: 1, due: Math.ceil(due) };
      default:
        return { kind };
    }
  },
};
