import { GROUP_PATIENCE, LONGEST_GROUP_WAIT_MS, LOOK_AT_PERMITS_MS } from './limits.rule.js';

/**
 * For scripts that count the runs of a tube. Only tubes whose handlers have limits have these keys:
 *  - `{<tube>}::running`, a sorted set: `<id>:<group>` of each run that has a permit, by the end of its lease. Without a group,
 *    nothing follows the colon
 *  - `{<tube>}::limits`, a hash: under `=<group>` the number of the group's runs in the set, when the last was granted, and
 *    when the next job may ask, in MessagePack; under `turn` GCRA's theoretical arrival time, in microseconds
 *
 * While the tube's slot is moving, these keys aren't available. Then nobody is limited, and a permit ends with its lease.
 */
export const LIMITS_OF_RUNS: string = `
local hasTubeKeys = RUNNING ~= LIMITS

local function changeGroup(group, by)
  if group == '' then return end
  local field = '=' .. group
  local packed = call('HGET', LIMITS, field)
  local use = packed and cmsgpack.unpack(packed) or { 0, 0, 0 }
  use[1] = use[1] + by
  if use[1] <= 0 then
    call('HDEL', LIMITS, field)
    return
  end
  if by > 0 then use[2] = now end
  call('HSET', LIMITS, field, cmsgpack.pack(use))
end

-- Sets the end of a run's lease. permit: false if the run has none.
local function holdPermit(key, permit, leaseEnd)
  if not permit or not hasTubeKeys then return end
  if call('ZADD', RUNNING, leaseEnd, idOf(key) .. ':' .. permit) == 1 then changeGroup(permit, 1) end
end

local function returnMember(member)
  if call('ZREM', RUNNING, member) == 1 then changeGroup(string.match(member, ':(.*)'), -1) end
end

-- Ends the run.
local function returnPermit(key, permit)
  if permit and hasTubeKeys then returnMember(idOf(key) .. ':' .. permit) end
end
`;

/** LIMITS_OF_RUNS for claims: who may run now. `context` has `limits` and `sparedFrom`. */
export const CLAIM_LIMITS: string = `${LIMITS_OF_RUNS}
local limits = hasTubeKeys and context.limits or {}
local burst = limits.burst or 1
local turn = limits.interval and tonumber(call('HGET', LIMITS, 'turn') or 0)
local refusals = 0

-- Reclaims permits whose lease has expired, except spared ones.
if limits.concurrency or limits.perGroup then
  local before = context.sparedFrom
  before = before and before <= now and string.format('(%.17g', before) or now
  local lapsed = call('ZCOUNT', RUNNING, '-inf', before)
  if lapsed > 0 then
    for _, member in ipairs(call('ZREVRANGE', RUNNING, -lapsed, -1)) do returnMember(member) end
  end
end

-- Returns nil if a run may be granted; otherwise the reason, and in how many ms to ask again.
local function limitedBy(permit)
  if limits.concurrency and call('ZCOUNT', RUNNING, '-inf', '+inf') >= limits.concurrency then return CONCURRENCY, ${LOOK_AT_PERMITS_MS} end
  local packed = permit and permit ~= '' and limits.perGroup and call('HGET', LIMITS, '=' .. permit)
  local use = packed and cmsgpack.unpack(packed)
  if use and use[1] >= limits.perGroup then
    local step = math.floor((now - use[2]) / ${GROUP_PATIENCE.part})
    step = math.min(${GROUP_PATIENCE.most}, max(${GROUP_PATIENCE.least}, step))
    use[3] = math.min(now + ${LONGEST_GROUP_WAIT_MS}, max(now, use[3]) + step)
    call('HSET', LIMITS, '=' .. permit, cmsgpack.pack(use))
    return GROUP, use[3] - now
  end
  if not turn then return nil end
  local wait = turn - (burst - 1) * limits.interval - us
  if wait <= AHEAD * 1000 then return nil end
  refusals = refusals + 1
  return RATE, math.ceil((wait + (refusals - 1) * limits.interval) / 1000)
end

-- Counts a granted run from now on. Returns the ledger time before which it must not start.
local function takeTurn()
  if not turn then return 0 end
  local from = turn - (burst - 1) * limits.interval
  turn = max(turn, us) + limits.interval
  call('HSET', LIMITS, 'turn', string.format('%.0f', turn))
  return math.ceil(from / 1000)
end
`;
