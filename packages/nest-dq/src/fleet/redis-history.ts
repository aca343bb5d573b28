import {
  ALL_TUBES,
  HOUR,
  hourOf,
  MAX_NUMBERS,
  MAX_TUBES,
  QUARTER,
  REMEMBERED_MS,
  type History,
  type MinuteOfTube,
} from './history.js';
import type { ForeignJson } from '../ledger/foreign-json.js';
import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';

/**
 * KEYS: a hash for each hour. `tubes` holds a JSON list of the tubes with counts of their own. `<minute>:<place>` holds the counts
 * of the tube at this place of the list, or of all tubes for place 0. `q<quarter>:<place>` holds the sum of these counts in a
 * quarter of the hour, for each tube. Counts are a MessagePack list, because most are zero or fit into one byte: a negative number
 * stands for that many zeros, and zeros at the end are left out.
 */
const OF_HOUR: string = `${RECORD}
local HISTORY = KEYS[1]

-- The list in the value of a field; empty if another program wrote something else there.
local function listIn(value, decode)
  if not value then return {} end
  local read, list = pcall(decode, value)
  return read and type(list) == 'table' and list or {}
end

local tubes = listIn(call('HGET', HISTORY, 'tubes'), cjson.decode)
local places = { ['${ALL_TUBES}'] = 0 }
for place, tube in ipairs(tubes) do
  if type(tube) ~= 'string' then tubes[place] = '?' end
  places[tubes[place]] = place
end
`;

/** Pushes the counts in these fields as JSON, still with negative numbers; an empty string for a field that is absent or foreign. */
const PUSH_COUNTS = `
local function pushCounts(fields)
  for _, value in ipairs(call('HMGET', HISTORY, unpack(fields))) do
    local read, numbers = pcall(table.concat, listIn(value, cmsgpack.unpack), ',')
    push(read and numbers ~= '' and short('[' .. numbers .. ']') or '')
  end
end
`;

export const HISTORY_SCRIPTS = {
  /** Arguments: for each minute of a tube a list of the minute within its hour, the tube, and the counts. */
  'dq:count': `${OF_HOUR}
local known = #tubes

local function countsIn(field)
  local counts = {}
  for _, number in ipairs(listIn(call('HGET', HISTORY, field), cmsgpack.unpack)) do
    number = tonumber(number) or 0
    if number >= 0 then counts[#counts + 1] = number end
    for _ = 1, math.min(-number, ${MAX_NUMBERS}) do counts[#counts + 1] = 0 end
  end
  return counts
end

local function packed(counts)
  local list, zeros = {}, 0
  for _, count in ipairs(counts) do
    if count == 0 then
      zeros = zeros + 1
    else
      if zeros > 0 then list[#list + 1] = -zeros end
      list[#list + 1] = count
      zeros = 0
    end
  end
  return cmsgpack.pack(list)
end

local function add(field, entry)
  local counts = countsIn(field)
  for i = 3, #entry do counts[i - 2] = (counts[i - 2] or 0) + entry[i] end
  call('HSET', HISTORY, field, packed(counts))
end

for _, entry in ipairs(args) do
  local tube = entry[2]
  if not places[tube] and #tubes < ${MAX_TUBES} then
    tubes[#tubes + 1] = tube
    places[tube] = #tubes
  end
  local place = places[tube]
  if place then add(entry[1] .. ':' .. place, entry) end
  if place and place > 0 then add('q' .. math.floor(entry[1] / ${QUARTER}) .. ':' .. place, entry) end
end
if #tubes > known then call('HSET', HISTORY, 'tubes', cjson.encode(tubes)) end
call('PEXPIRE', HISTORY, ${REMEMBERED_MS + HOUR * 60_000})
return reply
`,

  /** Arguments: a tube, the first and the last minute within the hour. Reply: the counts of each of these minutes. */
  'dq:counts': `${OF_HOUR}${PUSH_COUNTS}
local place = places[args[1]]
if not place then return reply end
local fields = {}
for minute = args[2], args[3] do fields[#fields + 1] = minute .. ':' .. place end
pushCounts(fields)
return reply
`,

  /**
   * Arguments: what the fields begin with, and their number: `q` and 4 for the quarters, an empty string and 60 for the minutes.
   * Reply: the name of each tube, followed by these counts.
   */
  'dq:parts': `${OF_HOUR}${PUSH_COUNTS}
for place, tube in ipairs(tubes) do
  local fields = {}
  for part = 0, args[2] - 1 do fields[#fields + 1] = args[1] .. part .. ':' .. place end
  push(short(tube))
  pushCounts(fields)
end
return reply
`,
} as const;

export type HistoryScript = keyof typeof HISTORY_SCRIPTS;

/** The history of all processes of one prefix, in one Redis: a key for each hour, which expires. */
export class RedisHistory implements History {
  constructor(
    /** Prefix of the keys. */
    private readonly base: string,
    readonly now: () => number,
    private readonly foreign: ForeignJson,
    private readonly send: (script: HistoryScript, keys: string[], json: string) => Promise<RawReply>,
  ) {}

  async add(minutes: readonly MinuteOfTube[]): Promise<void> {
    const [first] = minutes;
    if (!first) return;
    const entries = minutes.map(({ minute, tube, counts }) => [minute % HOUR, tube, ...counts]);
    await this.call('dq:count', hourOf(first.minute), entries);
  }

  async read(tube: string, from: number, to: number): Promise<MinuteOfTube[]> {
    const reply = await this.call('dq:counts', hourOf(from), [tube, from % HOUR, to % HOUR]);
    const found: MinuteOfTube[] = [];
    for (let minute = from; !reply.ended; minute++) {
      const counts = this.counts(reply.text());
      if (counts) found.push({ minute, tube, counts });
    }
    return found;
  }

  quarters(hour: number): Promise<MinuteOfTube[]> {
    return this.parts(hour, 'q', QUARTER);
  }

  minutes(hour: number): Promise<MinuteOfTube[]> {
    return this.parts(hour, '', 1);
  }

  /** @param length Minutes per part. */
  private async parts(hour: number, prefix: string, length: number): Promise<MinuteOfTube[]> {
    const reply = await this.call('dq:parts', hour, [prefix, HOUR / length]);
    const found: MinuteOfTube[] = [];
    while (!reply.ended) {
      const tube = reply.text();
      for (let minute = hour * HOUR; minute < (hour + 1) * HOUR; minute += length) {
        const counts = this.counts(reply.text());
        if (counts) found.push({ minute, tube, counts });
      }
    }
    return found;
  }

  private counts(text: string): readonly number[] | undefined {
    if (text === '') return undefined;
    return this.foreign.read<number[]>('history counts', text, { list: 'number' })?.flatMap(unpacked);
  }

  private async call(script: HistoryScript, hour: number, args: readonly unknown[]): Promise<ScriptReply> {
    return new ScriptReply(await this.send(script, [`${this.base}:history:${hour}`], JSON.stringify(args)));
  }
}

/** A negative number stands for that many zeros. */
function unpacked(number: number): number | number[] {
  return number < 0 ? Array.from({ length: Math.min(-number, MAX_NUMBERS) }, () => 0) : number;
}
