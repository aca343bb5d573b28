import {
  ALL_TUBES,
  HOUR,
  hourOf,
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
 * KEYS: a hash for each hour. `tubes` holds a JSON list of the tubes with counts of their own. `<minute>:<place>` holds a JSON
 * list of counts, of the tube at this place of the list, or of all tubes for place 0. `q<quarter>:<place>` holds the sum of these
 * counts in a quarter of the hour, for each tube.
 */
const OF_HOUR: string = `${RECORD}
local HISTORY = KEYS[1]

-- The list in a field; empty if another program wrote something else there.
local function listIn(field)
  local read, list = pcall(cjson.decode, call('HGET', HISTORY, field) or '[]')
  return read and type(list) == 'table' and list or {}
end

local tubes = listIn('tubes')
local places = { ['${ALL_TUBES}'] = 0 }
for place, tube in ipairs(tubes) do
  if type(tube) ~= 'string' then tubes[place] = '?' end
  places[tubes[place]] = place
end
`;

export const HISTORY_SCRIPTS = {
  /** Arguments: for each minute of a tube a list of the minute within its hour, the tube, and the counts. */
  'dq:count': `${OF_HOUR}
local known = #tubes

local function add(field, entry)
  local counts = listIn(field)
  for i = 3, #entry do counts[i - 2] = (tonumber(counts[i - 2]) or 0) + entry[i] end
  call('HSET', HISTORY, field, cjson.encode(counts))
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

  /** Arguments: a tube, the first and the last minute within the hour. Reply: the counts of each of these minutes as JSON. */
  'dq:counts': `${OF_HOUR}
local place = places[args[1]]
if not place then return reply end
local fields = {}
for minute = args[2], args[3] do fields[#fields + 1] = minute .. ':' .. place end
for _, counts in ipairs(call('HMGET', HISTORY, unpack(fields))) do push(short(counts or '')) end
return reply
`,

  /** Reply: the name of each tube, followed by the counts of each quarter of the hour as JSON. */
  'dq:quarters': `${OF_HOUR}
for place, tube in ipairs(tubes) do
  local fields = {}
  for quarter = 0, ${HOUR / QUARTER - 1} do fields[#fields + 1] = 'q' .. quarter .. ':' .. place end
  push(short(tube))
  for _, counts in ipairs(call('HMGET', HISTORY, unpack(fields))) do push(short(counts or '')) end
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

  async quarters(hour: number): Promise<MinuteOfTube[]> {
    const reply = await this.call('dq:quarters', hour, []);
    const found: MinuteOfTube[] = [];
    while (!reply.ended) {
      const tube = reply.text();
      for (let minute = hour * HOUR; minute < (hour + 1) * HOUR; minute += QUARTER) {
        const counts = this.counts(reply.text());
        if (counts) found.push({ minute, tube, counts });
      }
    }
    return found;
  }

  private counts(text: string): readonly number[] | undefined {
    if (text === '' || text === '{}') return undefined; // the second is an empty list as written by Lua
    return this.foreign.read('history counts', text, { list: 'number' });
  }

  private async call(script: HistoryScript, hour: number, args: readonly unknown[]): Promise<ScriptReply> {
    return new ScriptReply(await this.send(script, [`${this.base}:history:${hour}`], JSON.stringify(args)));
  }
}
