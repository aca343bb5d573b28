import type { Clock, Timer } from 'nest-handlers/time';
import { withinLimit } from '../time/call-limit.js';
import {
  ANNOUNCE_EVERY_MS,
  GONE_AFTER_MS,
  MAX_GONE,
  MAX_PROCESSES,
  type Member,
  type Presence,
  type PresenceNews,
  type PresentProcess,
  type ProcessRecord,
} from './presence.js';
import type { ForeignJson, Shape } from '../ledger/foreign-json.js';
import { RECORD } from '../ledger/records/record.lua.js';
import { ScriptReply, type RawReply } from '../ledger/script.js';
import { wrongValue } from '../errors.js';
import {
  changesAt,
  MAX_LIMIT_CHANGES,
  parseChanges,
  type LimitChange,
  type LimitChanges,
} from './limit-changes.js';

/** How long an ending process waits for its farewell; otherwise its record simply expires. */
const FAREWELL_MS = 500;
/** Records per reply. */
const TOGETHER = 50;

/**
 * The keys, in the order of KEYS. All of them are in one slot.
 *
 *  1. `seen`       a sorted set: the ids of processes by the time at which each is gone; the latest that are gone stay
 *  2. `processes`  a hash: the JSON of each process's record by its id
 *  3. `settings`   a sorted set: the strings of settings by the time at which nobody has had each for long enough
 *  4. `drained`    a sorted set: the endpoints of drained nodes by the time of their mark. It never expires
 *  5. `elected`    a string: the id of the leader. It expires with the election
 *  6. `yielding`   a sorted set: the ids of processes that want another leader, by the time at which each is gone
 *  7. `limits`     a string: the changed limits of tubes by their names, as one JSON object. It never expires
 */
const NAMES = ['seen', 'processes', 'settings', 'drained', 'elected', 'yielding', 'limits'] as const;

const SHARED: string = `${RECORD}
local ${NAMES.join(', ').toUpperCase()} = ${NAMES.map((_, i) => `KEYS[${i + 1}]`).join(', ')}
local GONE_AFTER, MOST, DAY = ${GONE_AFTER_MS}, 100, 86400000
local id = args[1]

-- Removes some expired entries. The last ranks of the reversed order have the earliest times.
local function purge(key)
  local found = call('ZREVRANGE', key, -MOST, -1, 'WITHSCORES')
  for i = 1, #found, 2 do
    if tonumber(found[i + 1]) <= now then call('ZREM', key, found[i]) end
  end
end

-- Forgets some processes that are gone, all but the latest.
local function forget()
  local gone = call('ZCOUNT', SEEN, '-inf', now)
  if gone <= ${MAX_GONE} then return end
  for _, each in ipairs(call('ZREVRANGE', SEEN, -math.min(gone - ${MAX_GONE}, MOST), -1)) do
    call('ZREM', SEEN, each)
    call('HDEL', PROCESSES, each)
  end
end
`;

export const PRESENCE_SCRIPTS = {
  /**
   * Arguments: the id of the process, its record as JSON, its settings as a string, and 1 if it wants another one to be elected.
   * Reply: the id of the leader or an empty string, the changed limits or an empty string, the number of drained nodes, their
   * endpoints, and some of the differing settings of others. A process that yields is elected only if all others yield too.
   */
  'dq:announce': `${SHARED}
forget()
purge(SETTINGS)
purge(YIELDING)
call('ZADD', SEEN, now + GONE_AFTER, id)
call('HSET', PROCESSES, id, args[2])
call('ZADD', SETTINGS, now + GONE_AFTER, args[3])
if args[4] == 1 then call('ZADD', YIELDING, now + GONE_AFTER, id) else call('ZREM', YIELDING, id) end
for _, key in ipairs({ SETTINGS, YIELDING }) do call('PEXPIRE', key, GONE_AFTER) end
for _, key in ipairs({ SEEN, PROCESSES }) do call('PEXPIRE', key, DAY) end
local elected = call('GET', ELECTED)
local gives_way = args[4] == 1 and call('ZCOUNT', SEEN, now, '+inf') > call('ZCOUNT', YIELDING, '-inf', '+inf')
if gives_way and (not elected or elected == id) then
  call('PEXPIRE', ELECTED, 0)
  elected = ''
elseif not elected or elected == id then
  call('SET', ELECTED, id, 'PX', GONE_AFTER)
  elected = id
end
local drained = call('ZREVRANGE', DRAINED, 0, MOST - 1)
push(elected, short(call('GET', LIMITS) or ''), #drained, unpack(drained))
for _, settings in ipairs(call('ZREVRANGE', SETTINGS, 0, 9)) do
  if settings ~= args[3] then push(settings) end
end
return reply
`,

  /** Argument: the id of an ending process. */
  'dq:withdraw': `${SHARED}
call('ZREM', SEEN, id)
call('ZREM', YIELDING, id)
call('HDEL', PROCESSES, id)
if call('GET', ELECTED) == id then call('PEXPIRE', ELECTED, 0) end
return reply
`,

  /** Reply: the id of the leader or an empty string; then the id of each process, and when it will be gone. */
  'dq:processes': `${SHARED}
push(call('GET', ELECTED) or '')
local found = call('ZREVRANGE', SEEN, 0, ${MAX_PROCESSES - 1}, 'WITHSCORES')
for i = 1, #found, 2 do
  -- A time later than any announcement sets was written by another program.
  if tonumber(found[i + 1]) > now then push(found[i], math.min(tonumber(found[i + 1]), now + GONE_AFTER)) end
end
return reply
`,

  /** Reply: the id of each process that is gone without having withdrawn, the last one first, and when it was. */
  'dq:gone': `${SHARED}
forget()
local gone = call('ZCOUNT', SEEN, '-inf', now)
local found = gone == 0 and {} or call('ZREVRANGE', SEEN, -gone, ${MAX_GONE - 1} - gone, 'WITHSCORES')
for i = 1, #found, 2 do push(found[i], tonumber(found[i + 1])) end
return reply
`,

  /** Arguments: ids of processes. Reply: the record of each as JSON, or an empty string if it has left. */
  'dq:records': `${SHARED}
for _, record in ipairs(call('HMGET', PROCESSES, unpack(args))) do push(short(record or '')) end
return reply
`,

  /** Arguments: an endpoint, and 1 to mark it or 0 to remove the mark. Reply: 1 if that changed something. */
  'dq:mark': `${SHARED}
push(args[2] == 1 and call('ZADD', DRAINED, 'NX', now, args[1]) or args[2] == 0 and call('ZREM', DRAINED, args[1]) or 0)
return reply
`,

  /**
   * Arguments: a tube, and its changed limits as JSON or an empty string. Reply: the stored changes before, or an empty string; 1 if
   * it was changed, 0 if too many tubes are. What another program wrote is replaced, and changes that are over are forgotten.
   */
  'dq:limits': `${SHARED}
local before = call('GET', LIMITS) or ''
local isRead, all = pcall(cjson.decode, before)
if not isRead or type(all) ~= 'table' then all = {} end
local count = 0
for tube, change in pairs(all) do
  local over = type(change) ~= 'table' or tonumber(change['until'] or now + 1) <= now
  if over then all[tube] = nil elseif tube ~= args[1] then count = count + 1 end
end
if args[2] ~= '' and count >= ${MAX_LIMIT_CHANGES} then
  push(short(before), 0)
  return reply
end
all[args[1]] = args[2] ~= '' and cjson.decode(args[2]) or nil
if next(all) then call('SET', LIMITS, cjson.encode(all)) else call('PEXPIRE', LIMITS, 0) end
push(short(before), 1)
return reply
`,

  /** Reply: the endpoints of the drained nodes. */
  'dq:drained': `${SHARED}
push(unpack(call('ZREVRANGE', DRAINED, 0, MOST - 1)))
return reply
`,
} as const;

export type PresenceScript = keyof typeof PRESENCE_SCRIPTS;

const NUMBERS = (...names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, 'number'] as const));

/** The parts of a ProcessRecord that others read. */
const PROCESS: Shape = {
  fields: {
    id: 'text',
    host: 'text',
    version: 'text',
    nodeVersion: 'text',
    cluster: 'text?',
    consumes: 'boolean',
    nodes: { values: 'boolean' },
    awayFor: { optional: { values: 'number' } },
    settings: {
      fields: { prefix: 'text', ...NUMBERS('replicas', 'minWritten', 'lease', 'doneTtl', 'staleAfter') },
    },
    tubes: {
      list: {
        fields: {
          tube: 'text',
          plan: 'text?',
          ...NUMBERS('concurrency', 'running', 'held'),
          attempts: 'number?',
          expireAfter: 'number?',
          backoff: { optional: { fields: { type: 'text', ...NUMBERS('delay', 'max', 'jitter') } } },
          limits: { optional: { values: 'number' } },
          changedUntil: 'number?',
          long: {
            list: {
              fields: {
                id: 'text',
                key: 'text?',
                ...NUMBERS('attempt', 'runFor'),
                hasProgress: { optional: 'boolean' },
              },
            },
          },
        },
      },
    },
    ...NUMBERS('pid', 'upFor'),
    lost: 'number?',
    unlisted: 'number?',
    toRepair: 'number?',
  },
};

/** The presence of all processes of one prefix, in one Redis. Each announces itself every `ANNOUNCE_EVERY`, in one call. */
export class RedisPresence implements Presence {
  private readonly announcers = new Set<Announcer>();
  private readonly keys: string[];

  constructor(
    /** Prefix of the keys. */
    base: string,
    private readonly clock: Clock,
    private readonly foreign: ForeignJson,
    private readonly send: (script: PresenceScript, keys: string[], json: string) => Promise<RawReply>,
  ) {
    this.keys = NAMES.map((name) => `${base}:${name}`);
  }

  join(member: Member): () => Promise<void> {
    const call = (script: PresenceScript, args: readonly unknown[]) => this.call(script, args);
    const limits = (json: string, now: number) => this.changesIn(json, now);
    const announcer = new Announcer(member, this.clock, { call, limits });
    this.announcers.add(announcer);
    announcer.announce();
    return () => {
      this.announcers.delete(announcer);
      return announcer.stop();
    };
  }

  async all(): Promise<PresentProcess[]> {
    const reply = await this.call('dq:processes', []);
    return this.read(reply, reply.text());
  }

  async gone(): Promise<PresentProcess[]> {
    return this.read(await this.call('dq:gone', []), '');
  }

  /** Reads the records of processes from the rest of a reply: their ids, and when each is gone. */
  private async read(reply: ScriptReply, elected: string): Promise<PresentProcess[]> {
    const found: { readonly id: string; readonly at: number }[] = [];
    while (!reply.ended) found.push({ id: reply.text(), at: reply.number() - GONE_AFTER_MS });
    const present: PresentProcess[] = [];
    while (found.length > 0) {
      const some = found.splice(0, TOGETHER);
      const records = await this.call(
        'dq:records',
        some.map(({ id }) => id),
      );
      for (const { id, at } of some) {
        const json = records.text();
        const record =
          json === '' ? undefined : this.foreign.read<ProcessRecord>('a process record', json, PROCESS);
        if (record) present.push({ record, at, elected: id === elected });
      }
    }
    return present;
  }

  async markDrained(endpoint: string, drained: boolean): Promise<boolean> {
    const reply = await this.call('dq:mark', [endpoint, Number(drained)]);
    for (const announcer of this.announcers) announcer.announce();
    return reply.number() === 1;
  }

  async changeLimits(tube: string, change: LimitChange | undefined): Promise<LimitChange | undefined> {
    const reply = await this.call('dq:limits', [tube, change ? JSON.stringify(change) : '']);
    const before = this.changesIn(reply.text(), reply.time / 1_000).get(tube);
    if (reply.number() === 0) {
      const expected = `at most ${MAX_LIMIT_CHANGES} tubes with changed limits`;
      throw wrongValue('DQ_BAD_OPTION', 'the tube', tube, expected);
    }
    for (const announcer of this.announcers) {
      announcer.announce(); // to learn it
      announcer.announce(); // to tell the others that it applies here
    }
    return before;
  }

  private changesIn(json: string, now: number): LimitChanges {
    const { changes, foreign } = parseChanges(json);
    if (foreign) this.foreign.warnOnce('changed limits', json);
    return changesAt(changes, now);
  }

  async drainedNodes(): Promise<string[]> {
    const reply = await this.call('dq:drained', []);
    const endpoints: string[] = [];
    while (!reply.ended) endpoints.push(reply.text());
    return endpoints;
  }

  private async call(script: PresenceScript, args: readonly unknown[]): Promise<ScriptReply> {
    return new ScriptReply(await this.send(script, this.keys, JSON.stringify(args)));
  }
}

/** Announces one process until stopped. */
class Announcer {
  private timer: Timer | undefined;
  /** The calls in flight. */
  private underWay: Promise<void> = Promise.resolve();
  private stopped = false;

  constructor(
    private readonly member: Member,
    private readonly clock: Clock,
    private readonly parts: {
      readonly call: (script: PresenceScript, args: readonly unknown[]) => Promise<ScriptReply>;
      readonly limits: (json: string, now: number) => LimitChanges;
    },
  ) {}

  /** Announces now, and then repeatedly. One call at a time: the news of the last one count. */
  announce(): void {
    this.timer?.cancel();
    this.timer = this.clock.after(ANNOUNCE_EVERY_MS, () => this.announce());
    // Without an answer, the next call announces it again. Earlier news count until then.
    this.underWay = this.underWay.then(() => this.write()).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.timer?.cancel();
    const farewell = this.underWay.then(() => this.parts.call('dq:withdraw', [this.member.id]));
    await withinLimit(this.clock, FAREWELL_MS, farewell).catch(() => undefined);
  }

  private async write(): Promise<void> {
    if (this.stopped) return;
    const { member, clock } = this;
    const { id, settings } = member;
    const sent = clock.now();
    const told = [id, JSON.stringify(member.describe()), settings, Number(member.yields())];
    const reply = await this.parts.call('dq:announce', told);
    if (this.stopped) return;
    // The election began after the call was sent, so it ends here before it ends in Redis.
    const electedUntil = reply.text() === id ? sent + GONE_AFTER_MS : 0;
    const now = reply.time / 1_000;
    const limits = this.parts.limits(reply.text(), now);
    const drained = Array.from({ length: reply.number() }, () => reply.text());
    const otherSettings: string[] = [];
    while (!reply.ended) otherSettings.push(reply.text());
    const news: PresenceNews = { electedUntil, drained, limits, now, otherSettings };
    member.learn(news);
  }
}
