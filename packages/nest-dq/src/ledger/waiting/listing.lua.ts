import { copyIdsOf, layoutOf } from '../../copies/location.js';
import type { IndexAnswer, IndexRequest, Schedule, Tally, TallyRequest, WaitingIds } from '../requests.js';
import type { WaitingPage, WaitingPosition } from './waiting-jobs.js';
import { RANKS } from './ranks.lua.js';
import { RECORD } from '../records/record.lua.js';
import { readSchedule, SCHEDULES } from '../schedules/schedules.lua.js';
import { PLACES_IN_INDEX, WAITING } from './waiting.lua.js';
import { codes, namesOf, readCodes, replyCodes, replyEach, type Fields, type RedisVerb } from '../script.js';

const NEEDS_INDEX = `
if not isIndexAtHand() then error({ err = 'TRYAGAIN the index cannot be read while its slot moves' }) end
`;

const STORED: Fields<IndexRequest> = {
  due: ({ due }) => String(Math.ceil(due)), // a string, since Redis is slow to write Lua numbers
  layout: ({ places }, texts) => (places.length > 0 ? texts.numberOf(layoutOf(places)) : 0),
  copies: ({ places }) => copyIdsOf(places),
};

const ANSWERS: readonly IndexAnswer[] = ['full', 'listed', 'known'];

/** Adds plain jobs that were just stored to the index, unless the ledger knows more of them by now. */
export const index: RedisVerb<IndexRequest, IndexAnswer> = {
  fields: STORED,
  script: `${RECORD}${WAITING}${NEEDS_INDEX}${PLACES_IN_INDEX}
${codes(ANSWERS)}
local room = MOST_INDEXED - sizeOfIndex()
local allNew = call('EXISTS', unpack(KEYS, HEAD + 1)) == 0
local times, where, layouts = { INDEX }, { PLACES }, args[2].texts
for i, text in ipairs(layouts) do layouts[i] = packLayout(text) .. '|' end

local function index(key, ${namesOf(STORED)})
  -- The record of an ended job stays for at least DONE_TTL.
  if tonumber(due) + DONE_TTL <= now or not allNew and call('EXISTS', key) == 1 then return KNOWN end
  if room <= 0 then return FULL end
  room = room - 1
  local id = idOf(key)
  times[#times + 1], times[#times + 2] = due, id
  if layout > 0 then where[#where + 1], where[#where + 2] = id, layouts[layout] .. copies end
  return LISTED
end
${replyCodes(
  STORED,
  'index',
  `
if times[2] then call('ZADD', unpack(times)) end
if where[2] then
  if isNew then where[#where + 1], where[#where + 2] = '#', cmsgpack.pack(servers) end
  call('HSET', unpack(where))
end
`,
)}
`,
  ...readCodes(ANSWERS),
};

const PAGE: Fields<WaitingPage> = {
  // As strings, since `..` keeps only 14 digits.
  from: ({ from }) => from !== undefined && String(from),
  to: ({ to }) => to !== undefined && String(to),
  due: ({ after }) => after !== undefined && String(after.due),
  id: ({ after }) => after !== undefined && after.id,
  limit: 'limit',
};

/** A page of the index by due time. Replies with 1 if more follow, and two values for each job. */
export const waiting: RedisVerb<WaitingPage, WaitingIds> = {
  fields: PAGE,
  about: 'index',
  script: `${RECORD}${WAITING}${NEEDS_INDEX}${RANKS}
local all = sizeOfIndex()

local function countBefore(due)
  return call('ZCOUNT', INDEX, '-inf', '(' .. due)
end

-- Number of jobs before the page. Many may be due in the same millisecond, in order of their ids.
local function ranksBefore(due, id)
  local low, high = countBefore(due), call('ZCOUNT', INDEX, '-inf', due)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local rank = all - 1 - middle
    if isLess(id, call('ZREVRANGE', INDEX, rank, rank)[1]) then high = middle else low = middle + 1 end
  end
  return low
end

local function waiting(key, ${namesOf(PAGE)})
  local first = max(from and countBefore(from) or 0, due and ranksBefore(due, id) or 0)
  local last = to and countBefore(to) or call('ZCOUNT', INDEX, '-inf', LAST_TIME)
  local count = max(0, math.min(limit, last - first))
  push(last - first > count and 1 or 0)
  if count == 0 then return end
  local found = call('ZREVRANGE', INDEX, all - first - count, all - first - 1, 'WITHSCORES')
  for n = #found, 2, -2 do push(found[n - 1], timeOf(found[n])) end
end
${replyEach(PAGE, 'waiting')}
return reply
`,
  read(from) {
    const more = from.number() === 1;
    const ids: WaitingPosition[] = [];
    while (!from.ended) ids.push({ id: from.text(), due: from.number() });
    return { ids, more };
  },
};

/**
 * Reports schedules from the jobs' records, or, for a job without one, from the index. Corrects the index entry of a job, also
 * that of a job that ended while its tube's slot was moving, once any copy that comes back would be stale.
 */
export const locate: RedisVerb<string, Schedule | undefined> = {
  fields: {},
  script: `${SCHEDULES}${WAITING}${PLACES_IN_INDEX}
local function listed(key)
  if not isIndexAtHand() then return nil end
  local due = timeOf(call('ZSCORE', INDEX, idOf(key)))
  if not due then return nil end
  if due + KEPT_AFTER < now then return unlist(key) end
  return { state = 'w', born = 0, committed = 0, due = due, attempt = 0, places = placesOf(idOf(key)) }
end

local function locate(key)
  local record = readRecord(key)
  if not record then return valuesOf(listed(key)) end
  relist(key, record)
  return valuesOf(scheduleOf(record))
end
${replyEach({}, 'locate')}
writeIndex()
return reply
`,
  read: readSchedule,
};

const TIMES: Fields<TallyRequest> = { times: ({ times }) => times.map(String) };

/** Counts the jobs of the index. Replies with the number of all, of overdue and of retrying ones, when the first is due, and each count. */
export const tally: RedisVerb<TallyRequest, Tally> = {
  fields: TIMES,
  about: 'index',
  script: `${RECORD}${WAITING}${NEEDS_INDEX}
local function tally(key, times)
  local all = sizeOfIndex()
  local first = all > 0 and timeOf(call('ZREVRANGE', INDEX, all - 1, all - 1, 'WITHSCORES')[2]) or 0
  push(all, call('ZCOUNT', INDEX, '-inf', now), call('ZCOUNT', RETRYING, '-inf', '+inf'), first)
  for i = 1, #times do push(call('ZCOUNT', INDEX, '-inf', '(' .. times[i])) end
end
${replyEach(TIMES, 'tally')}
return reply
`,
  read(from, { times }) {
    const [listed, overdue, retrying, first] = [from.number(), from.number(), from.number(), from.number()];
    const before = times.map(() => from.number());
    return { listed, overdue, retrying, ...(listed > 0 ? { firstDue: first } : {}), before };
  },
};
