// The rules in memory and the scripts in Redis, asked the same at the same time.
import { expect } from '@jest/globals';
import { Redis } from 'ioredis';
import type { AnswerOf, RequestOf, Verb } from 'nest-dq/src/ledger/ledger.js';
import { AHEAD_MS } from 'nest-dq/src/ledger/ledger.js';
import type { ClaimContext } from 'nest-dq/src/ledger/requests.js';
import { readEntry } from 'nest-dq/src/ledger/finished/entry.js';
import { formatPlaces } from 'nest-dq/src/copies/location.js';
import { SCRIPTS } from 'nest-dq/src/ledger/redis/connection.js';
import type { RedisMaster } from 'nest-dq/src/ledger/redis/master.js';
import { RedisTubeLedger } from 'nest-dq/src/ledger/redis/redis-tube-ledger.js';
import type { RawReply } from 'nest-dq/src/ledger/script.js';
import { keptAfter } from 'nest-dq/src/ledger/ledger.js';
import type { JobRecord } from 'nest-dq/src/ledger/records/job-record.js';
import { FOR_GOOD } from 'nest-dq/src/ledger/pauses/pauses.rule.js';
import { Records } from 'nest-dq/src/ledger/records/records.js';
import { RULES } from 'nest-dq/src/ledger/memory/rules.js';

export const SETTINGS = { lease: 15_000, doneTtl: 600_000, staleAfter: 7 * 86_400_000, mostIndexed: 1 };
const NO_PAUSES = { pauses: [], pausesExpire: 'never' };
const TUBE = '{t}:';
const EXPIRIES = `${TUBE}:expiries`;

/**
 * Stands before each script: Redis' clock is then the one that a call brings along, and what `PX` and PEXPIRE say is kept in a
 * hash, as that clock may jump. The scripts themselves are as they are.
 */
const VIRTUAL_TIME = `
local server, at = redis, tonumber(ARGV[7])
local function forget(key)
  server.call('DEL', key)
  server.call('HDEL', '${EXPIRIES}', key)
end
local redis = { pcall = server.pcall }
function redis.call(name, key, value, ...)
  if name == 'TIME' then return { math.floor(at / 1000000), at % 1000000 } end
  if name == 'EXISTS' then
    local count = 0
    for _, each in ipairs({ key, value, ... }) do count = count + (redis.call('GET', each) and 1 or 0) end
    return count
  end
  if name == 'PEXPIRE' then
    return server.call('HSET', '${EXPIRIES}', key, string.format('%d', math.floor(at / 1000) + value))
  end
  local expiry = server.call('HGET', '${EXPIRIES}', key)
  if expiry and tonumber(expiry) <= math.floor(at / 1000) then forget(key) end
  if name ~= 'GET' and name ~= 'SET' then
    if value == nil then return server.call(name, key) end
    return server.call(name, key, value, ...)
  end
  if name == 'GET' then return server.call('GET', key) end
  local options, ttl, keep = { ... }, nil, false
  for i, option in ipairs(options) do
    if option == 'NX' and server.call('EXISTS', key) == 1 then return false end
    if option == 'PX' then ttl = options[i + 1] end
    if option == 'KEEPTTL' then keep = true end
  end
  if ttl then
    server.call('HSET', '${EXPIRIES}', key, string.format('%d', math.floor(at / 1000) + ttl))
  elseif not keep then
    server.call('HDEL', '${EXPIRIES}', key)
  end
  return server.call('SET', key, value)
end
`;

/** A record as a flat list, and when it expires. An integer of a reply keeps all digits, as cjson does not. */
const INSPECT = `
local packed = redis.call('GET', KEYS[1])
local fields = {}
for name, value in pairs(packed and cmsgpack.unpack(packed) or {}) do
  fields[#fields + 1], fields[#fields + 2] = name, value == true and 1 or value
end
return { fields, redis.call('HGET', '${EXPIRIES}', KEYS[1]) or 'never' }
`;

/** Everything that counts against the limits: each field with its value. */
const INSPECT_LIMITS = `
local fields = redis.call('HGETALL', KEYS[1])
for i = 2, #fields, 2 do
  if fields[i - 1] ~= 'turn' then fields[i] = cmsgpack.unpack(fields[i]) end
end
return fields
`;

interface Inspecting {
  fuzzInspect(key: string): Promise<[fields: unknown[], expiry: string]>;
}
type Scripts = Record<string, (keys: number, ...rest: readonly string[][]) => Promise<RawReply>>;

export class TwinLedgers {
  readonly records = new Records(SETTINGS, AHEAD_MS);
  /** Ledger time, ms. */
  now = 1_900_000_000_000;
  private readonly redis: Redis;
  private readonly tube: RedisTubeLedger;

  constructor(url: string) {
    this.redis = new Redis(url);
    for (const [name, lua] of Object.entries(SCRIPTS))
      this.redis.defineCommand(name, { lua: VIRTUAL_TIME + lua });
    this.redis.defineCommand('fuzzInspect', { lua: INSPECT, numberOfKeys: 1 });
    const scripts = this.redis as unknown as Scripts;
    const master: Pick<RedisMaster, 'call'> & { readonly time: { now(): number } } = {
      time: { now: () => this.now },
      call: (script, keys, json) => {
        const { lease, doneTtl, staleAfter, mostIndexed } = SETTINGS;
        const common = [this.now, lease, doneTtl, staleAfter, mostIndexed];
        const args = [...common, json, this.now * 1_000].map(String);
        return scripts[script]!(keys.length, keys, args);
      },
    };
    this.tube = new RedisTubeLedger(master as RedisMaster, TUBE);
  }

  /** Both forget everything. */
  async wipe(): Promise<void> {
    this.records.byId.clear();
    this.records.letters.clear();
    this.records.finished.dropOldest(Infinity);
    this.records.index.clear();
    this.records.keepPauses([]);
    this.records.limitUse.running.clear();
    this.records.limitUse.groups.clear();
    this.records.keepTurn(0);
    await this.redis.flushall();
  }

  close(): void {
    this.redis.disconnect();
  }

  /** As the rules and as the scripts answer. */
  async ask<V extends Verb>(
    verb: V,
    requests: readonly RequestOf<V>[],
    context?: ClaimContext,
  ): Promise<[rules: AnswerOf<V>[], scripts: AnswerOf<V>[]]> {
    const scripts = await this.tube.ask(verb, requests, context);
    const time = { now: this.now, us: this.now * 1_000 };
    const claiming = context && { ...context };
    const decide = <W extends Verb>(rule: W, asked: readonly RequestOf<W>[]) =>
      asked.map((request) => RULES[rule](this.records, request, time, claiming));
    const rules = decide(verb, requests);
    if (context?.settled) decide('settle', context.settled);
    return [rules, scripts];
  }

  /** The records of a job, of all dead letters, of the waiting jobs and of the pauses. */
  async written(id: string): Promise<[rules: object, scripts: object]> {
    const inspect = this.redis as unknown as Inspecting;
    const [[fields, expiry], [control, until], letters, dead, index, places, running, limits, ...kept] =
      await Promise.all([
        inspect.fuzzInspect(TUBE + id),
        inspect.fuzzInspect(`${TUBE}:control`),
        this.redis.hgetall(`${TUBE}:letters`),
        this.redis.zrange(`${TUBE}:dead`, '0', '-1', 'WITHSCORES'),
        this.redis.zrange(`${TUBE}:index`, '0', '-1', 'WITHSCORES'),
        this.redis.hkeys(`${TUBE}:places`),
        this.redis.zrange(`${TUBE}:running`, '0', '-1', 'WITHSCORES'),
        this.redis.eval(INSPECT_LIMITS, 1, `${TUBE}:limits`),
        this.redis.zrange(`${TUBE}:finished`, '0', '-1', 'WITHSCORES'),
        this.redis.hgetall(`${TUBE}:ends`),
        this.redis.hget(EXPIRIES, `${TUBE}:ends`),
      ]);
    const waiting = [...this.records.index].sort(byName);
    const withPlaces = waiting.filter(([, { places }]) => places.length > 0).map(([name]) => name);
    const expiresAt = expiry === 'never' ? Infinity : Number(expiry);
    const record = this.records.byId.get(id);
    // After a run the expiry may stay as its lease has set it: Redis then remembers for up to a lease longer.
    const longer = record && record.state !== 'running' ? expiresAt - record.expiresAt : 0;
    if (longer > 0 && longer <= SETTINGS.lease) record!.expiresAt = expiresAt;
    const inMemory = [...this.records.letters].sort(byName);
    const inHash = Object.entries(letters).filter(([name]) => !name.endsWith(':l'));
    return [
      {
        record: record && record.expiresAt > this.now ? [fieldsOf(record), record.expiresAt] : 'none',
        letters: inMemory.map(([name, letter]) => {
          const { id: _id, born: _born, places, ...rest } = letter;
          return [name, rest, formatPlaces(places)];
        }),
        dead: inMemory.map(([name, { died }]) => [name, died]),
        index: waiting.map(([name, { due }]) => [name, due]),
        places: withPlaces,
        finished: this.finished(),
        ...this.limitUse(),
        ...this.pauses(),
      },
      {
        record:
          fields.length > 0 && expiresAt > this.now
            ? [present(Object.fromEntries(pairs(fields))), expiresAt]
            : 'none',
        letters: inHash.sort(byName).map(([name, json]) => [name, JSON.parse(json), letters[`${name}:l`]]),
        dead: scores(dead),
        index: scores(index),
        // The list of the servers goes with the last job.
        places: places.filter((name) => name !== '#' || index.length === 0).sort(),
        finished: finishedIn(...kept, this.now),
        running: scores(running),
        limits: Object.fromEntries(pairs(limits as unknown[])),
        ...(control.length > 0 && (until === 'never' || Number(until) > this.now)
          ? { pauses: control[1], pausesExpire: until }
          : NO_PAUSES),
      },
    ];
  }

  private finished(): object {
    const { finished } = this.records;
    if (finished.isOver(this.now)) return [];
    return finished.inOrder.map(({ id, ended, keptUntil: _keptUntil, ...run }) => [id, ended, run]);
  }

  private limitUse(): object {
    const { turn, running, groups } = this.records.limitUse;
    const inUse = [...groups].map(([name, use]) => [`=${name}`, [use.running, use.grantedAt, use.askAt]]);
    return {
      running: [...running]
        .map(([id, { permit, until }]) => [`${id}:${permit}`, until] as const)
        .sort(byName),
      limits: { ...Object.fromEntries(inUse), ...(turn > 0 && { turn: String(turn) }) },
    };
  }

  private pauses(): object {
    const { pauses } = this.records;
    const last = pauses.at(-1);
    const expiry = last && last.to !== FOR_GOOD ? last.to + keptAfter(SETTINGS) : Infinity;
    if (!last || expiry <= this.now) return NO_PAUSES;
    const pausesExpire = expiry === Infinity ? 'never' : String(expiry);
    return { pauses: pauses.flatMap(({ from, to }) => [from, to]), pausesExpire };
  }
}

function finishedIn(
  ended: readonly string[],
  entries: Readonly<Record<string, string>>,
  until: string | null,
  now: number,
): object {
  if (until !== null && Number(until) <= now) return [];
  expect(
    pairs(ended)
      .map(([id]) => id)
      .sort(),
  ).toEqual(Object.keys(entries).sort());
  return pairs(ended).map(([id, score]) => [id, Number(score), readEntry(entries[id]!)]);
}

function scores(list: readonly string[]): (readonly [string, number])[] {
  return pairs(list)
    .map(([name, score]) => [name, Number(score)] as const)
    .sort(byName);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function pairs<T>(list: readonly T[]): [string, T][] {
  return Array.from({ length: list.length / 2 }, (_, i) => [String(list[2 * i]), list[2 * i + 1]!]);
}

/** The values of absent fields: see records/record.lua.ts. */
const ABSENT: Readonly<Record<string, unknown>> = {
  ...Object.fromEntries(
    ['committed', 'born', 'due', 'attempt', 'fence', 'leaseEnd', 'sum', 'sumDue', 'lostDue', 'holdEnd'].map(
      (name) => [name, 0],
    ),
  ),
  counted: 0,
  abort: 0,
  expired: 0,
  floor: -1,
  opened: -1,
  first: -1,
  places: '',
};

function present(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => value !== undefined && value !== ABSENT[name]),
  );
}

/** A record of the rules as the scripts write it: see records/record.lua.ts. */
function fieldsOf(record: JobRecord): Record<string, unknown> {
  const { aborted, owed, places } = record;
  const state = {
    waiting: 'w',
    running: record.noFurtherStart ? 'l' : 'r',
    done: 'd',
    revoked: record.unknownEnd ? 'u' : 'v',
    dead: 'x',
  }[record.state];
  const { committed, born, due, attempt, fence, leaseEnd, token, sum, sumDue, lostDue } = record;
  const { floor, opened, firstOpened: first, holdEnd } = record;
  return present({
    state,
    committed,
    born,
    due,
    attempt,
    fence,
    leaseEnd,
    token,
    sum,
    sumDue,
    lostDue,
    floor,
    opened,
    first,
    holdEnd,
    owed: owed && [owed.due, owed.mask, Number(owed.unknown)],
    counted: Number(record.counted),
    aborted: aborted.length > 0 ? aborted.flatMap(({ from, to }) => [from, to]) : undefined,
    places: formatPlaces(places),
    failures: record.failures?.map((failure) => JSON.stringify(failure)),
    progress: record.progress && [record.fence, JSON.stringify(record.progress)],
    abort: Number(record.abortAsked),
    expired: Number(record.expired ?? false),
    startBy: record.startBy,
  });
}
