import { RECORD } from './parts/record.js';

/**
 * Asks the time, as a call that is refused wherever any other is (no memory, a replica, a failing disk, a right that the
 * user lacks): runs every command that the scripts use, in a form that writes nothing. KEYS: a key of the tube that is
 * no record, and never exists. Reply: the server's run id, which changes with each start, or an empty text.
 */
export const PROBE: string = `
-- The server's own words do not say in every version which command a user may not run.
local function need(name, ...)
  local answer = redis.pcall(name, ...)
  local err = type(answer) == 'table' and answer.err
  if err and not string.find(err, 'wrong number of arguments', 1, true) then
    error({ err = err .. ' (' .. name .. ')' })
  end
end

need('TIME')
${RECORD}
local key = KEYS[1]
need('GET', key)
need('SET', key, '', 'XX')
need('PEXPIRE', key, 0)
need('ZADD', key, 'XX', 0, '')
need('ZREM', key, '')
need('ZSCORE', key, '')
need('EXISTS', key)
need('ZCOUNT', key, 0, 0)
need('ZREVRANGE', key, 0, 0)
need('HSET', key, '', '', '') -- a value is missing: what a user may do is looked at before that
need('HDEL', key, '')
need('HGET', key, '')
need('HMGET', key, '')
local info = redis.pcall('INFO', 'server')
local runId = type(info) == 'string' and string.match(info, 'run_id:(%x+)')
return { 1, us, runId or '' }
`;
