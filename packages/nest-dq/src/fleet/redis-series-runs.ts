import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';
import { KEPT_MS, MAX_SERIES, type SeriesRuns, type StoredSeriesRun } from './series-runs.js';

/** KEYS: a sorted set of the series' tubes by the end of their last run, and a hash of these runs. */
const OF_SERIES: string = `${RECORD}
local NAMES, RUNS = KEYS[1], KEYS[2]

-- How many are kept: the first ones, in descending order.
local function kept()
  return math.min(call('ZCOUNT', NAMES, now - ${KEPT_MS}, '+inf'), ${MAX_SERIES})
end
`;

export const SERIES_SCRIPTS = {
  /** Arguments: for each run a list of its tube, its end, and its text. */
  'dq:seriesRan': `${OF_SERIES}
for _, entry in ipairs(args) do
  local tube, endedAt, text = unpack(entry)
  if tonumber(call('ZSCORE', NAMES, tube) or 0) <= endedAt then
    call('HSET', RUNS, tube, text)
    call('ZADD', NAMES, endedAt, tube)
  end
end
for _, tube in ipairs(call('ZREVRANGE', NAMES, kept(), -1)) do
  call('ZREM', NAMES, tube)
  call('HDEL', RUNS, tube)
end
for i = 1, 2 do call('PEXPIRE', KEYS[i], ${KEPT_MS}) end
return reply
`,

  /** Reply: the text of each run. */
  'dq:seriesRuns': `${OF_SERIES}
local count = kept()
if count == 0 then return reply end
for _, text in ipairs(call('HMGET', RUNS, unpack(call('ZREVRANGE', NAMES, 0, count - 1)))) do
  if text then push(short(text)) end
end
return reply
`,
} as const;

export type SeriesScript = keyof typeof SERIES_SCRIPTS;

/** The last runs of the series of all processes of one prefix, in two Redis keys. */
export class RedisSeriesRuns implements SeriesRuns {
  constructor(
    readonly now: () => number,
    private readonly call: (script: SeriesScript, json: string) => Promise<RawReply>,
  ) {}

  async put(runs: readonly StoredSeriesRun[]): Promise<void> {
    const entries = runs.map(({ tube, endedAt, text }) => [tube, endedAt, text]);
    await this.call('dq:seriesRan', JSON.stringify(entries));
  }

  async read(): Promise<string[]> {
    const reply = new ScriptReply(await this.call('dq:seriesRuns', '[]'));
    const found: string[] = [];
    while (!reply.ended) found.push(reply.text());
    return found;
  }
}
