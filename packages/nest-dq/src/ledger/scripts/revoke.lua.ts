import { PRELUDE } from './prelude.lua.js';

/**
 * Forbids further starts. KEYS: the records. ARGV after the common ones, four for each: born, due, mask, unknown.
 * Reply, one integer each: 0 unknown, 1 revoked, 2 running, 3 done, 4 dead.
 */
export const REVOKE: string = `${PRELUDE}
local UNKNOWN, REVOKED, RUNNING, DONE, DEAD = 0, 1, 2, 3, 4

local function revoke(key, born, due, mask, unknown)
  local record = readRecord(key)
  if not record then
    -- An end is remembered for DONE_TTL at least, so this job was never claimed, unless it was due before that: then it
    -- may be done and forgotten, or wait in a backlog. No start from now on, in any case.
    record = {
      state = due + DONE_TTL > now and 'w' or 'u', committed = born, opened = -1, floor = -1,
      due = due, leaseEnd = 0, holdEnd = 0, owed = '',
    }
    call('HSET', key, 'g', born, 'd', due, 'b', born)
  elseif tonumber(call('HGET', key, 'b')) ~= born then
    return UNKNOWN
  end
  if record.state == 'd' then return DONE end
  if record.state == 'x' then return DEAD end
  local runs = record.running and record.leaseEnd > now
  if runs then
    record.state = 'l'
  else
    if record.state ~= 'u' then record.state = 'v' end
    record.leaseEnd = 0
    call('HDEL', key, 'e', 't')
  end
  record.owed = owe(record.owed, born, due, mask, unknown)
  -- Every add that was opened before now is covered; a run that goes on is not asked for the floor.
  local floor = max(record.committed, record.opened, record.floor, now)
  call('HSET', key, 's', record.state, 'f', floor, 'w', record.owed)
  expire(key, record)
  if runs or record.holdEnd > now then return RUNNING end
  return record.state == 'u' and UNKNOWN or REVOKED
end

local reply = { 1, us }
for i = 1, #KEYS do
  local a = 5 + (i - 1) * 4
  reply[i + 2] =
    revoke(KEYS[i], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]))
end
return reply
`;
