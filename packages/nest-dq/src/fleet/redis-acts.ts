import { MAX_ACTS, type Acts, type StoredAct } from './acts.js';
import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';

/** Lua: the number of entries ranked before the acts. A place is a safe integer; greater ones stem from another program. */
const PLACES: string = `${RECORD}
local ACTS = KEYS[1]
local aliens = call('ZCOUNT', ACTS, '(9007199254740991', '+inf')
`;

/** KEYS: a sorted set of the acts' strings by place. It never expires. */
export const ACT_SCRIPTS = {
  /** Arguments: the strings of acts. A place is the time in microseconds, or one more than the last if that isn't later. */
  'dq:act': `${PLACES}
local last = call('ZREVRANGE', ACTS, aliens, aliens, 'WITHSCORES')[2]
local place = max(us, tonumber(last or 0) + 1)
for i, act in ipairs(args) do call('ZADD', ACTS, 'NX', place + i, act) end
for _, old in ipairs(call('ZREVRANGE', ACTS, ${MAX_ACTS}, -1)) do call('ZREM', ACTS, old) end
return reply
`,

  /** Arguments: a place or 0, and the number of acts wanted. Reply: the string and the place of each. */
  'dq:acts': `${PLACES}
local before, limit = args[1], args[2]
local first = before > 0 and call('ZCOUNT', ACTS, before, '+inf') or aliens
local found = call('ZREVRANGE', ACTS, first, first + limit - 1, 'WITHSCORES')
for i = 1, #found, 2 do
  local place = tonumber(found[i + 1])
  if place >= 1 then push(short(found[i]), place) end
end
return reply
`,
} as const;

export type ActScript = keyof typeof ACT_SCRIPTS;

/** The acts of all processes of one prefix, in one Redis key. */
export class RedisActs implements Acts {
  constructor(
    readonly now: () => number,
    private readonly call: (script: ActScript, json: string) => Promise<RawReply>,
  ) {}

  async add(acts: readonly string[]): Promise<void> {
    await this.call('dq:act', JSON.stringify(acts));
  }

  async read(before: number | undefined, limit: number): Promise<StoredAct[]> {
    const reply = new ScriptReply(await this.call('dq:acts', JSON.stringify([before ?? 0, limit])));
    const found: StoredAct[] = [];
    while (!reply.ended) {
      const text = reply.text();
      found.push({ text, place: reply.number() });
    }
    return found;
  }
}
