// Processes of one prefix as they see each other: over Redis, a Redis Cluster, and in one process.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RedisFleet } from 'nest-dq/src/fleet/redis-fleet.js';
import { LocalPresence } from 'nest-dq/src/fleet/local-presence.js';
import {
  ANNOUNCE_EVERY_MS,
  type Member,
  type Presence,
  type PresenceNews,
  type ProcessRecord,
} from 'nest-dq/src/fleet/presence.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { eventually } from 'test-servers';
import { EACH_REDIS, open, openFleet, realRedis } from './real-redis.js';

/** Processes announce themselves sooner, so that no test waits for seconds until another one hears. */
const soonAgain: Clock = {
  wall: () => systemClock.wall(),
  now: () => systemClock.now(),
  after: (delay, callback) => systemClock.after(delay === ANNOUNCE_EVERY_MS ? 250 : delay, callback),
  soon: (callback) => systemClock.soon(callback),
  next: (callback) => systemClock.next(callback),
};

const RECORD: Omit<ProcessRecord, 'id'> = {
  host: 'web-1',
  pid: 4711,
  version: '0.1.0',
  nodeVersion: 'v24.0.0',
  upFor: 1_234,
  consumes: true,
  nodes: { 'n0:11300': true },
  settings: { prefix: '', replicas: 3, minWritten: 2, lease: 1, doneTtl: 2, staleAfter: 3 },
  tubes: [
    { tube: 'Größe „x“', concurrency: 10, running: 1, held: 0, long: [] },
    {
      tube: 'retried',
      concurrency: 1,
      attempts: 6,
      backoff: { type: 'fixed', delay: 5, max: 5, jitter: 0 },
      running: 0,
      held: 0,
      long: [],
    },
  ],
};

/** A process, and what it learned last. */
class Known implements Member {
  news: PresenceNews | undefined;

  constructor(
    readonly id: string,
    readonly settings = 'the same',
  ) {}

  describe(): ProcessRecord {
    return { id: this.id, ...RECORD };
  }

  yielding = false;

  yields(): boolean {
    return this.yielding;
  }

  learn(news: PresenceNews): void {
    this.news = news;
  }

  get elected(): boolean {
    return this.news !== undefined && this.news.electedUntil > systemClock.now();
  }
}

const leaves: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(leaves.splice(0).map((leave) => leave()));
});

/** Joins, and resolves once it has announced itself and heard of the others. */
async function joined(presence: Presence, member: Known): Promise<() => Promise<void>> {
  const leave = presence.join(member);
  leaves.push(leave);
  await eventually(`${member.id} heard`, () => member.news !== undefined);
  return leave;
}

const idsOf = async (presence: Presence) =>
  (await presence.all()).map(({ record, elected }) => `${record.id}${elected ? ' elected' : ''}`).toSorted();

/** @param presenceOfProcess creates the presence of another process on each call. */
function contract(presenceOfProcess: () => Presence): void {
  it('shows each process with what it announced, from when it joins until it leaves', async () => {
    const one = presenceOfProcess();
    const before = systemClock.wall();
    await joined(one, new Known('a'));
    const leave = await joined(presenceOfProcess(), new Known('b'));
    expect(await idsOf(one)).toEqual(['a elected', 'b']);
    const [found] = (await one.all()).filter(({ record }) => record.id === 'b');
    expect(found!.record).toEqual({ id: 'b', ...RECORD });
    expect(Math.abs(found!.at - before)).toBeLessThan(10_000);
    await leave();
    expect(await idsOf(one)).toEqual(['a elected']);
  });

  it('elects one, and another when that one leaves', async () => {
    const members = [new Known('a'), new Known('b'), new Known('c')];
    const [leave] = [
      await joined(presenceOfProcess(), members[0]!),
      await joined(presenceOfProcess(), members[1]!),
      await joined(presenceOfProcess(), members[2]!),
    ];
    expect(members.map(({ elected }) => elected)).toEqual([true, false, false]);
    await leave();
    await eventually('another is elected', () => members.slice(1).some(({ elected }) => elected));
    expect(members.slice(1).filter(({ elected }) => elected)).toHaveLength(1);
  });

  it('notifies each process which nodes are drained: at once, at its start, and when that ends', async () => {
    const [one, two, later] = [new Known('a'), new Known('b'), new Known('c')];
    const presence = presenceOfProcess();
    await joined(presence, one);
    await joined(presenceOfProcess(), two);
    expect(await presence.markDrained('n1:1', true)).toBe(true);
    expect(await presence.markDrained('n1:1', true)).toBe(false);
    expect(await presence.markDrained('n0:1', true)).toBe(true);
    await joined(presenceOfProcess(), later);
    for (const each of [one, two, later])
      await eventually(`${each.id} knows`, () => each.news!.drained.toSorted().join() === 'n0:1,n1:1');
    expect((await presenceOfProcess().drainedNodes()).toSorted()).toEqual(['n0:1', 'n1:1']);
    expect(await presenceOfProcess().markDrained('n1:1', false)).toBe(true);
    expect(await presence.markDrained('n1:1', false)).toBe(false);
    expect(await presence.markDrained('n0:1', false)).toBe(true);
    for (const each of [one, two, later])
      await eventually(`${each.id} knows`, () => each.news!.drained.length === 0);
    expect(await presence.drainedNodes()).toEqual([]);
  });

  it('reports the settings of others as far as they differ', async () => {
    const [one, two, three] = [new Known('a'), new Known('b'), new Known('c', 'another')];
    await joined(presenceOfProcess(), three);
    await joined(presenceOfProcess(), one);
    await joined(presenceOfProcess(), two);
    expect([one, two].map(({ news }) => news!.otherSettings)).toEqual([['another'], ['another']]);
    await eventually('the third knows', () => three.news!.otherSettings.join() === 'the same');
  });
}

describe('the presence in one process', () => {
  let presence: LocalPresence;
  beforeEach(() => {
    presence = new LocalPresence(() => systemClock.wall());
  });
  contract(() => presence);
});

describe.each(EACH_REDIS)('the presence in %s', (_name, cluster) => {
  const at = realRedis({ cluster });
  const presenceOfProcess = (prefix?: string) => openFleet(at.client, { prefix, clock: soonAgain }).presence;
  beforeEach(async () => {
    await at.inspect.flushall();
  });
  contract(presenceOfProcess);

  it('does not mix prefixes, of which the empty one is one', async () => {
    await joined(presenceOfProcess('shop.'), new Known('a'));
    await joined(presenceOfProcess(''), new Known('b'));
    expect(await idsOf(presenceOfProcess('shop.'))).toEqual(['a elected']);
    expect(await idsOf(presenceOfProcess(''))).toEqual(['b elected']);
  });

  it('forgets a process that was silent for 15 s of the server’s time, and elects another then', async () => {
    const [dead, other] = [new Known('dead'), new Known('other')];
    const ledger = open(at.client, { clock: soonAgain });
    leaves.push(new RedisFleet(ledger, soonAgain, () => undefined).presence.join(dead));
    await eventually('it heard', () => dead.elected);
    await ledger.close(); // from here on it is silent
    const presence = presenceOfProcess();
    await joined(presence, other);
    expect(await idsOf(presence)).toEqual(['dead elected', 'other']);
    const gone = Number(await at.inspect.zscore('{:}::seen', 'dead'));
    const electedFor = await at.inspect.pttl('{:}::elected');
    expect(electedFor).toBeGreaterThan(10_000);
    expect(electedFor).toBeLessThanOrEqual(15_000);
    // The records that Redis has when these 15 s are over.
    await at.inspect.zadd('{:}::seen', gone - 15_000, 'dead');
    await at.inspect.pexpire('{:}::elected', 1);
    await eventually('the other is elected', () => other.elected);
    expect(await idsOf(presence)).toEqual(['other elected']);
    expect((await presence.gone()).map(({ record }) => record.id)).toEqual(['dead']);
  });

  it('remembers the last twenty that fell silent, but none that said goodbye', async () => {
    const presence = presenceOfProcess();
    const ended = new Known('ended');
    await (
      await joined(presence, ended)
    )();
    const record = (n: number) => JSON.stringify({ id: `dead-${n}`, ...RECORD });
    for (let n = 0; n < 25; n++) {
      await at.inspect.zadd('{:}::seen', 1_000 + n, `dead-${n}`);
      await at.inspect.hset('{:}::processes', `dead-${n}`, record(n));
    }
    const gone = await presence.gone();
    expect(gone.map((each) => each.record.id)).toEqual(
      Array.from({ length: 20 }, (_, i) => `dead-${24 - i}`),
    );
    expect(gone[0]).toMatchObject({ at: 1_024 - 15_000, elected: false });
    expect(await at.inspect.hlen('{:}::processes')).toBe(20);
  });

  it('elects another in the place of one that yields, and one of those that yield if all do', async () => {
    const members = [new Known('a'), new Known('b'), new Known('c')];
    const elected = () => members.filter((member) => member.elected).map(({ id }) => id);
    for (const member of members) await joined(presenceOfProcess(), member);
    members[0]!.yielding = true;
    members[1]!.yielding = true;
    await eventually('the one that does not yield is elected', () => elected().join() === 'c');
    members[2]!.yielding = true;
    await eventually('nobody yields to others that yield, too', async () => {
      const yielding = await at.inspect.zcard('{:}::yielding');
      return yielding === 3 && elected().length === 1;
    });
    const [stays] = elected();
    const heard = members.find(({ id }) => id === stays)!;
    const { electedUntil } = heard.news!;
    await eventually('it is elected again', () => heard.news!.electedUntil > electedUntil);
    expect(elected()).toEqual([stays]);
    members[0]!.yielding = false;
    await eventually('the one that can again is elected', () => elected().join() === 'a');
  });

  it('leaves nothing but the marks once all processes have died', async () => {
    const presence = presenceOfProcess();
    await joined(presence, new Known('a'));
    await presence.markDrained('n1:1', true);
    const [SOON, DAY] = [15_000, 86_400_000];
    for (const [name, most] of Object.entries({ seen: DAY, processes: DAY, settings: SOON, elected: SOON })) {
      const left = await at.inspect.pttl(`{:}::${name}`);
      expect(left).toBeGreaterThan(0);
      expect(left).toBeLessThanOrEqual(most);
    }
    expect(await at.inspect.pttl('{:}::drained')).toBe(-1);
  });

  it('ends the election in a process before it ends in Redis, however late the answer comes', async () => {
    const member = new Known('a');
    const sent = systemClock.now();
    await joined(openFleet(at.client).presence, member);
    const left = await at.inspect.pttl('{:}::elected');
    const over = systemClock.now() + left;
    expect(member.news!.electedUntil).toBeGreaterThanOrEqual(sent + 15_000);
    expect(member.news!.electedUntil).toBeLessThanOrEqual(over + 1);
  });

  it('shows any number of processes', async () => {
    const presence = presenceOfProcess();
    const many = Array.from({ length: 120 }, (_, i) => new Known(`p${i}`));
    await Promise.all(many.map((member) => joined(presence, member)));
    expect((await idsOf(presence)).filter((id) => id.startsWith('p'))).toHaveLength(120);
  });
});

describe('the presence while Redis is away', () => {
  const at = realRedis();

  it('ends without waiting long, and announces itself again when Redis is back', async () => {
    const member = new Known('a');
    const presence = openFleet(at.server.url, { clock: soonAgain }).presence;
    const leave = await joined(presence, member);
    await at.server.kill();
    await expect(presence.all()).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
    await expect(presence.markDrained('n1:1', true)).rejects.toMatchObject({ code: 'DQ_LEDGER_DOWN' });
    await at.server.restart();
    await at.inspect.flushall();
    await eventually('it is there again', async () => (await idsOf(presence).catch(() => [])).length === 1);
    at.server.freeze();
    try {
      const from = systemClock.now();
      await leave();
      expect(systemClock.now() - from).toBeLessThan(2_000);
    } finally {
      at.server.thaw();
    }
  });
});
