import type { Handover, LeftDeletions } from '../handover.js';
import type { ForeignJson, Shape } from '../foreign-json.js';
import { RECORD } from '../records/record.lua.js';
import { ScriptReply, type RawReply } from '../script.js';

/**
 * Leaves deletions to other processes. KEYS: a sorted set, which expires if nobody comes within a day. Arguments, two for each
 * LeftDeletions: in how many ms it is certain, and its JSON.
 */
export const LEAVE: string = `${RECORD}
for i = 1, #args, 2 do call('ZADD', KEYS[1], now + args[i], args[i + 1]) end
call('PEXPIRE', KEYS[1], 86400000)
return { 1, us }
`;

/** Takes some certain deletions. KEYS: the sorted set. Reply: each as JSON. */
export const TAKE: string = `${RECORD}
local MOST = 10
-- The earliest entries with their times: the last ranks of the reversed order.
local found = call('ZREVRANGE', KEYS[1], -MOST, -1, 'WITHSCORES')
for i = 1, #found, 2 do
  if tonumber(found[i + 1]) <= now then
    call('ZREM', KEYS[1], found[i])
    push(short(found[i]))
  end
end
return reply
`;

/** Maximum number of calls that yield only foreign entries. The next check continues from there. */
const MAX_CALLS = 100;

const LEFT: Shape = {
  fields: {
    tube: 'text',
    ids: { list: 'text' },
    generations: { list: 'number' },
    copies: { list: { fields: { index: 'number', instance: 'text' } } },
    unknown: 'boolean',
    certainIn: 'number',
  },
};

/** The handover of all processes of one prefix, in one Redis key. */
export class RedisHandover implements Handover {
  constructor(
    private readonly foreign: ForeignJson,
    private readonly call: (script: 'dq:leave' | 'dq:take', json: string) => Promise<RawReply>,
  ) {}

  async leave(left: readonly LeftDeletions[]): Promise<void> {
    const values = left.flatMap((each) => [Math.ceil(each.certainIn), JSON.stringify(each)]);
    await this.call('dq:leave', JSON.stringify(values));
  }

  async take(): Promise<LeftDeletions[]> {
    for (let calls = 0; calls < MAX_CALLS; calls++) {
      const reply = new ScriptReply(await this.call('dq:take', '[]'));
      if (reply.ended) return [];
      const left: LeftDeletions[] = [];
      while (!reply.ended) {
        const each = this.foreign.read<LeftDeletions>('handover data of a process', reply.text(), LEFT);
        if (each && each.ids.length === each.generations.length) left.push(each);
      }
      if (left.length > 0) return left; // an empty list would mean there are no more
    }
    return [];
  }
}
