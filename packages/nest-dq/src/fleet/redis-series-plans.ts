import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';
import {
  CHECK_AGAIN_MS,
  REMOVED,
  type PlanCheck,
  type PlanQuery,
  type PlanTexts,
  type SeriesPlans,
  type StoredSeries,
  type UpsertedPlan,
} from './series-plans.js';

/**
 * KEYS: a hash of entries by name; a sorted set of names without the removed ones, all of score 0, so that Redis sorts them by
 * name; sorted sets of names by the time of the next check, and by when they should have run; a hash of last runs.
 */
const OF_PLANS: string = `${RECORD}
local PLANS, NAMES, CHECKS, MISSED, RUNS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local function whole(number) return string.format('%.0f', number) end

local function isRemoved(entry) return string.sub(entry, 1, ${REMOVED.length}) == '${REMOVED}' end

-- All but the time at which it began.
local function planOf(entry) return string.sub(entry, string.find(entry, ' ', 1, true) or 1) end

local function store(name, entry)
  call('HSET', PLANS, name, entry)
  call('ZADD', NAMES, 0, name)
  call('ZADD', CHECKS, now + ${CHECK_AGAIN_MS}, name)
end

local function pushEach(names)
  if #names == 0 then return end
  local entries, runs = call('HMGET', PLANS, unpack(names)), call('HMGET', RUNS, unpack(names))
  for i, name in ipairs(names) do push(name, short(entries[i] or ''), short(runs[i] or '')) end
end
`;

export const PLAN_SCRIPTS = {
  /** Arguments: the name, the plan, the payload, and the start or 0. Reply: 0 to 2 for a status, the entry, the one before. */
  'dq:planUpsert': `${OF_PLANS}
local name, spec, payload, startAt = unpack(args)
local before = call('HGET', PLANS, name) or ''
local entry = whole(max(now, startAt)) .. ' ' .. spec .. '\\n' .. payload
local exists = before ~= '' and not isRemoved(before)
if exists and planOf(before) == planOf(entry) then
  push(2, before, '')
  return reply
end
store(name, entry)
call('ZREM', MISSED, name)
push(exists and 1 or 0, entry, before)
return reply
`,

  /** Arguments: a name. Reply: its name, entry and run, or nothing. */
  'dq:planGet': `${OF_PLANS}
if call('HGET', PLANS, args[1]) then pushEach({ args[1] }) end
return reply
`,

  /** Arguments: the limit, the prefix and the last name before. Reply: how many there are, then as \`dq:planGet\`. */
  'dq:planPage': `${OF_PLANS}
local limit, prefix, after = unpack(args)
local total = call('ZCOUNT', NAMES, '-inf', '+inf')
push(total)

-- Redis compares bytes, and Lua by the server's language.
local function isBefore(one, other)
  for i = 1, math.min(#one, #other) do
    local a, b = string.byte(one, i), string.byte(other, i)
    if a ~= b then return a < b end
  end
  return #one < #other
end

-- By bisection, as the user of Redis needs no further right for it.
local low, high = 0, total
while low < high do
  local middle = math.floor((low + high) / 2)
  local name = call('ZREVRANGE', NAMES, -middle - 1, -middle - 1)[1]
  if isBefore(name, prefix) or not isBefore(after, name) then low = middle + 1 else high = middle end
end
if low >= total then return reply end
local names = call('ZREVRANGE', NAMES, -math.min(low + limit, total), -low - 1)
local found = {}
for i = #names, 1, -1 do
  if string.sub(names[i], 1, #prefix) == prefix then found[#found + 1] = names[i] end
end
pushEach(found)
return reply
`,

  /** Arguments: a name. Reply: its entry or ''. */
  'dq:planRemove': `${OF_PLANS}
local name = args[1]
local before = call('HGET', PLANS, name) or ''
push(isRemoved(before) and '' or short(before))
if before == '' then return reply end
store(name, '${REMOVED}' .. planOf(before))
call('ZREM', NAMES, name)
call('ZREM', MISSED, name)
call('HDEL', RUNS, name)
return reply
`,

  /** Arguments: a name. Reply: 1 if it was removed. */
  'dq:planForget': `${OF_PLANS}
local name = args[1]
local entry = call('HGET', PLANS, name)
if entry and not isRemoved(entry) then
  push(0)
  return reply
end
call('HDEL', PLANS, name)
call('ZREM', CHECKS, name)
push(1)
return reply
`,

  /** Arguments: a name and its entry. */
  'dq:planRestore': `${OF_PLANS}
if not call('HGET', PLANS, args[1]) then store(args[1], args[2]) end
return reply
`,

  /** Arguments: the limit. Reply: as \`dq:planGet\`. */
  'dq:planTake': `${OF_PLANS}
local due = math.min(call('ZCOUNT', CHECKS, '-inf', now), args[1])
if due == 0 then return reply end
local names = call('ZREVRANGE', CHECKS, -due, -1)
for _, name in ipairs(names) do call('ZADD', CHECKS, now + ${CHECK_AGAIN_MS}, name) end
pushEach(names)
return reply
`,

  /** Arguments: a name, its entry, the next check or 0, and since when it's missed or 0. Reply: nothing, or the present entry. */
  'dq:planChecked': `${OF_PLANS}
local name, entry, nextCheck, missed = unpack(args)
local present = call('HGET', PLANS, name) or ''
if present ~= entry then
  push(short(present))
  return reply
end
if nextCheck > 0 then call('ZADD', CHECKS, nextCheck, name) else call('ZREM', CHECKS, name) end
if missed > 0 then call('ZADD', MISSED, missed, name) else call('ZREM', MISSED, name) end
return reply
`,

  /** Arguments: the limit. Reply: as \`dq:planGet\`. */
  'dq:planMissed': `${OF_PLANS}
local names = call('ZREVRANGE', MISSED, -args[1], -1)
for i = 1, math.floor(#names / 2) do names[i], names[#names + 1 - i] = names[#names + 1 - i], names[i] end
pushEach(names)
return reply
`,

  /** Arguments: names and texts in turn. */
  'dq:planRan': `${OF_PLANS}
for i = 1, #args, 2 do
  local entry = call('HGET', PLANS, args[i])
  if entry and not isRemoved(entry) then call('HSET', RUNS, args[i], args[i + 1]) end
end
return reply
`,
} as const;

export type PlanScript = keyof typeof PLAN_SCRIPTS;

const STATUS = ['created', 'changed', 'unchanged'] as const;

/** The plans of one prefix, in five Redis keys that don't expire. */
export class RedisSeriesPlans implements SeriesPlans {
  constructor(
    readonly now: () => number,
    private readonly call: (script: PlanScript, json: string) => Promise<RawReply>,
  ) {}

  async upsert(name: string, { spec, payload }: PlanTexts, startAt = 0): Promise<UpsertedPlan> {
    const reply = await this.ask('dq:planUpsert', [name, spec, payload, startAt]);
    const [status, entry, before] = [reply.entry(STATUS), reply.text(), reply.text()];
    return { status, entry, ...(before !== '' && { before }) };
  }

  async get(name: string): Promise<StoredSeries | undefined> {
    return seriesIn(await this.ask('dq:planGet', [name]))[0];
  }

  async page({ limit, prefix = '', after = '' }: PlanQuery): ReturnType<SeriesPlans['page']> {
    const reply = await this.ask('dq:planPage', [limit, prefix, after]);
    return { total: reply.number(), series: seriesIn(reply) };
  }

  async remove(name: string): Promise<string | undefined> {
    return (await this.ask('dq:planRemove', [name])).text() || undefined;
  }

  async forget(name: string): Promise<boolean> {
    return (await this.ask('dq:planForget', [name])).number() === 1;
  }

  async restore(name: string, entry: string): Promise<void> {
    await this.ask('dq:planRestore', [name, entry]);
  }

  async take(limit: number): Promise<StoredSeries[]> {
    return seriesIn(await this.ask('dq:planTake', [limit]));
  }

  async checked(
    name: string,
    entry: string,
    { next = 0, missedSince = 0 }: PlanCheck,
  ): Promise<string | undefined> {
    const reply = await this.ask('dq:planChecked', [name, entry, Math.ceil(next), Math.floor(missedSince)]);
    return reply.ended ? undefined : reply.text();
  }

  async missed(limit: number): Promise<StoredSeries[]> {
    return seriesIn(await this.ask('dq:planMissed', [limit]));
  }

  async ran(runs: readonly { readonly name: string; readonly text: string }[]): Promise<void> {
    await this.ask(
      'dq:planRan',
      runs.flatMap(({ name, text }) => [name, text]),
    );
  }

  private async ask(script: PlanScript, args: readonly (string | number)[]): Promise<ScriptReply> {
    return new ScriptReply(await this.call(script, JSON.stringify(args)));
  }
}

function seriesIn(reply: ScriptReply): StoredSeries[] {
  const found: StoredSeries[] = [];
  while (!reply.ended) {
    const [name, entry, run] = [reply.text(), reply.text(), reply.text()];
    found.push({ name, entry, ...(run !== '' && { run }) });
  }
  return found;
}
