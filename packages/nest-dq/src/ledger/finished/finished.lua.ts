import { RANKS } from '../waiting/ranks.lua.js';
import { RECORD } from '../records/record.lua.js';
import type { FinishedEntry, FinishedList, FinishedQuery } from '../requests.js';
import { namesOf, replyEach, type Fields, type RedisVerb, type ScriptReply } from '../script.js';
import { LONGEST_ENTRY, readEntry } from './entry.js';
import { MORE_TRIMMED } from './finished-jobs.js';

/**
 * Lua, for `complete`: keeps jobs that are done. The keys are the last ones, and absent while the tube's slot is moving: then
 * nothing is kept. `keepFinished` follows the last request, when all records are written.
 */
export const KEEPING: string = `
local FINISHED, ENDS = KEYS[HEAD + args[1] + 1], KEYS[HEAD + args[1] + 2]
local ended, entries, keptFor, keptMax = { FINISHED }, { ENDS }, 0, 0

local function keepLater(key, entry, period, most)
  if not FINISHED then return end
  local id = idOf(key)
  ended[#ended + 1], ended[#ended + 2] = now, id
  entries[#entries + 1], entries[#entries + 2] = id, entry
  keptFor, keptMax = period, most
end

-- What is beyond the bounds goes with the next completions, and everything once there were none for this long.
local function keepEach()
  call('ZADD', unpack(ended))
  call('HSET', unpack(entries))
  local all = call('ZCOUNT', FINISHED, '-inf', '+inf')
  local old = call('ZCOUNT', FINISHED, '-inf', '(' .. now - keptFor)
  local count = math.min(max(old, all - keptMax), (#ended - 1) / 2 + ${MORE_TRIMMED})
  if count > 0 then
    local ids = call('ZREVRANGE', FINISHED, all - count, all)
    call('ZREM', FINISHED, unpack(ids))
    call('HDEL', ENDS, unpack(ids))
  end
  call('PEXPIRE', FINISHED, keptFor)
  call('PEXPIRE', ENDS, keptFor)
end

-- Nothing depends on these entries: a key that another program wrote must not fail the completions.
local function keepFinished()
  if ended[2] then pcall(keepEach) end
end
`;

const READ = `
local FINISHED, ENDS = KEYS[HEAD + args[1] + 1], KEYS[HEAD + args[1] + 2]
if not FINISHED then error({ err = 'TRYAGAIN finished jobs cannot be read while their slot moves' }) end

-- Empty if there is none, or it isn't ours.
local function entryOf(text)
  return text and #text <= ${4 * LONGEST_ENTRY} and text or ''
end

-- Nil unless it is a time that keepLater wrote.
local function timeOf(score)
  local time = tonumber(score or '')
  return time and time >= 0 and time <= 8.64e15 and time == math.floor(time) and time or nil
end
`;

const PAGE: Fields<FinishedQuery> = {
  // As strings, since `..` keeps only 14 digits.
  from: ({ from }) => from !== undefined && String(from),
  to: ({ to }) => to !== undefined && String(to),
  before: ({ after }) => after !== undefined && String(after.ended),
  id: ({ after }) => after !== undefined && after.id,
  limit: 'limit',
};

/** A page of finished jobs, newest first. Replies with 1 if more follow, and three values for each job. */
export const finished: RedisVerb<FinishedQuery, FinishedList> = {
  fields: PAGE,
  about: 'finished',
  needsFinished: () => true,
  script: `${RECORD}${READ}${RANKS}
local function countSince(time)
  return call('ZCOUNT', FINISHED, time, '+inf')
end

-- Number of jobs before the page. Many may have ended in the same millisecond, in descending order of their ids.
local function ranksBefore(time, id)
  local low, high = call('ZCOUNT', FINISHED, '(' .. time, '+inf'), countSince(time)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if isLess(call('ZREVRANGE', FINISHED, middle, middle)[1], id) then high = middle else low = middle + 1 end
  end
  return low
end

local function finished(key, ${namesOf(PAGE)})
  local first = max(to and countSince(to) or 0, before and ranksBefore(before, id) or 0)
  local last = countSince(from or '-inf')
  local count = max(0, math.min(limit, last - first))
  push(last - first > count and 1 or 0)
  if count == 0 then return end
  local found = call('ZREVRANGE', FINISHED, first, first + count - 1, 'WITHSCORES')
  local ids = {}
  for n = 1, #found, 2 do ids[#ids + 1] = found[n] end
  local texts = call('HMGET', ENDS, unpack(ids))
  for n = 1, #ids do push(short(ids[n]), timeOf(found[2 * n]) or -1, entryOf(texts[n])) end
end
${replyEach(PAGE, 'finished')}
return reply
`,
  read(from) {
    const more = from.number() === 1;
    const jobs: FinishedEntry[] = [];
    let last: FinishedList['last'];
    while (!from.ended) {
      const [id, ended] = [from.text(), from.number()];
      const run = readEntry(from.text());
      if (ended < 0) continue;
      last = { id, ended };
      if (run) jobs.push({ ...last, ...run });
    }
    return { jobs, ...(more && last && { last }) };
  },
};

/** Finds finished jobs by their ids. */
export const ended: RedisVerb<string, FinishedEntry | undefined> = {
  fields: {},
  needsFinished: () => true,
  script: `${RECORD}${READ}
local function ended(key)
  local id = idOf(key)
  return timeOf(call('ZSCORE', FINISHED, id)) or -1, entryOf(call('HGET', ENDS, id))
end
${replyEach({}, 'ended')}
return reply
`,
  read: readEnded,
};

function readEnded(from: ScriptReply, id: string): FinishedEntry | undefined {
  const at = from.number();
  const run = readEntry(from.text());
  return at >= 0 && run ? { id, ended: at, ...run } : undefined;
}
