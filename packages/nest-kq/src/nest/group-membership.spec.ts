import { beforeEach, describe, expect, it } from '@jest/globals';
import { MemoryBudget } from '../consumer/memory-budget.js';
import { CollectingLogger } from '../../spec-support/collecting-logger.js';
import type { LogAdmin, LogDriver, LogMember, MemberHandler, MemberOptions } from '../driver/driver.js';
import { MemoryDriver } from '../driver/memory/memory-driver.js';
import { KqError } from '../errors.js';
import { EventHub } from '../events/event-hub.js';
import { GroupsHealth } from '../health/health.js';
import { systemClock, type Clock } from 'nest-handlers/time';
import { driverLog } from './environment.js';
import { GroupMembership } from './group-membership.js';
import { DEFAULT_LOG_LEVELS } from './log-levels.js';
import { LogReport } from './log-report.js';

/** A member of a group whose brokers do what the test says. */
interface Scripted {
  readonly handler: MemberHandler;
  joined(): void;
  refused(error: KqError): void;
  stopped: boolean;
}

let logger: CollectingLogger;
let members: Scripted[];
/** The options each member was given. */
let options: MemberOptions[];
/** Timers, by their delay in ms. */
let timers: Map<number, () => void>;
let events: EventHub;
let commit: () => Promise<boolean>;
let membership: GroupMembership;
beforeEach(() => {
  logger = new CollectingLogger();
  members = [];
  options = [];
  timers = new Map();
  commit = async () => true;
  const clock: Clock = {
    ...systemClock,
    after(delay, callback) {
      timers.set(delay, callback);
      return { cancel: () => void timers.delete(delay) };
    },
  };
  const memory = new MemoryDriver({ clock: systemClock, log: driverLog(logger) });
  admin = memory.admin;
  const driver: LogDriver = {
    admin,
    producer: (options) => memory.producer(options),
    member: (given, handler) => {
      options.push(given);
      return scripted(handler);
    },
    close: () => memory.close(),
  };
  const report = new LogReport(logger, { ...DEFAULT_LOG_LEVELS, rebalances: 'off' }, clock);
  events = new EventHub((who, error) => report.listenerFailed(who, error));
  report.listen(events);
  membership = new GroupMembership(driver, clock, events, report, {
    group: 'shop',
    from: 'first',
    commitEvery: 1_000,
    sessionTimeout: 30_000,
    rebalanceTimeout: 30_000,
    shutdownTimeout: 10_000,
    names: ['Orders.placed'],
    subscriptions: [
      {
        topics: ['orders'],
        order: 'key',
        concurrency: 1,
        size: 1,
        within: 0,
        room: { messages: 10, budget: new MemoryBudget(1e9) },
        run: async () => [],
      },
    ],
  });
});

function scripted(handler: MemberHandler): LogMember {
  let settle!: { resolve(): void; reject(error: KqError): void };
  const started = new Promise<void>((resolve, reject) => (settle = { resolve, reject }));
  const each: Scripted = {
    handler,
    stopped: false,
    joined() {
      void handler.rejoining();
      handler.assigned([{ topic: 'orders', partition: 0 }], false);
      settle.resolve();
    },
    refused: (error) => settle.reject(error),
  };
  members.push(each);
  return {
    start: () => started,
    pause: () => undefined,
    resume: () => undefined,
    commit: () => commit(),
    identity: undefined,
    rejoin: () => undefined,
    async stop() {
      each.stopped = true;
      settle.reject(new KqError('KQ_CLOSED', 'stopped'));
    },
  };
}

let admin: LogAdmin;
const health = () => new GroupsHealth(admin, systemClock, () => [membership]).check();
const away = new KqError('KQ_AWAY', 'connect ECONNREFUSED');

/** Lets the time go that a timer waits for. */
async function pass(delay: number): Promise<void> {
  const callback = timers.get(delay)!;
  timers.delete(delay);
  callback();
  await new Promise(setImmediate);
}

describe('the membership of a group', () => {
  it('lets the application start while the brokers are away, and reports when it is in the group', async () => {
    const started = membership.start();
    const [member] = members;
    member!.handler.failed(away, 100);
    expect(await health()).toEqual({
      kq: { status: 'down', groups: { shop: { state: 'KQ_AWAY: connect ECONNREFUSED', partitions: {} } } },
    });
    await pass(5_000);
    await started;
    member!.handler.failed(away, 200);
    member!.joined();
    expect(await health()).toMatchObject({ kq: { status: 'up', groups: { shop: { state: 'up' } } } });
    expect(logger.matching(/./)).toEqual([
      'this process is out of the group shop and rejoins in 100 ms: KQ_AWAY: connect ECONNREFUSED',
      'this process has not joined the group shop within 5000 ms: the application starts now and handles messages once it has joined',
      'consuming orders in the group shop',
    ]);
    await membership.end();
    expect(member!.stopped).toBe(true);
    expect(await health()).toMatchObject({
      kq: { status: 'down', groups: { shop: { state: 'left' } } },
    });
  });

  it('reports when the group is lost, once, and when it is back', async () => {
    const started = membership.start();
    const [member] = members;
    member!.joined();
    await started;
    member!.handler.failed(away, 100);
    member!.handler.failed(away, 200);
    expect(await health()).toMatchObject({ kq: { status: 'down' } });
    member!.joined();
    expect(await health()).toMatchObject({ kq: { status: 'up' } });
    expect(logger.matching(/./)).toEqual([
      'consuming orders in the group shop',
      'this process is out of the group shop and rejoins in 100 ms: KQ_AWAY: connect ECONNREFUSED',
      'this process has rejoined the group shop',
    ]);
    await membership.end();
  });

  it('reports each of its steps, with the partitions that it got and lost', async () => {
    const told: unknown[] = [];
    for (const name of ['groupJoined', 'groupLeft', 'rebalanced', 'commitFailed'] as const)
      events.on(name).subscribe((event) => told.push({ name, ...event }));
    const [zero, one] = [0, 1].map((partition) => ({ topic: 'orders', partition }));
    const started = membership.start();
    const [member] = members as [Scripted];
    const { handler } = member;
    member.joined();
    await started;
    for (const assignment of [[one!, zero!], [one!], [one!]]) {
      void handler.rejoining();
      handler.assigned(assignment, true);
    }
    handler.failed(away, 100);
    handler.failed(away, 200);
    member.joined();
    await membership.end();
    const group = 'shop';
    const rebalanced = { name: 'rebalanced', group };
    expect(told).toEqual([
      { name: 'groupJoined', group, topics: ['orders'], again: false },
      { ...rebalanced, partitions: [zero], assigned: [zero], lost: [] },
      { ...rebalanced, partitions: [one, zero], assigned: [one], lost: [] },
      { ...rebalanced, partitions: [one], assigned: [], lost: [zero] },
      { ...rebalanced, partitions: [one], assigned: [], lost: [] },
      { ...rebalanced, partitions: [], assigned: [], lost: [one] },
      { name: 'groupLeft', group, error: away, retryIn: 100 },
      { name: 'groupLeft', group, error: away, retryIn: 200 },
      { name: 'groupJoined', group, topics: ['orders'], again: true },
      { ...rebalanced, partitions: [zero], assigned: [zero], lost: [] },
      { ...rebalanced, partitions: [], assigned: [], lost: [zero] },
      { name: 'groupLeft', group },
    ]);
  });

  it('is not up while the group does not answer, and is again once it does', async () => {
    const left: unknown[] = [];
    events.on('groupLeft').subscribe((event) => left.push(event));
    const started = membership.start();
    const [member] = members as [Scripted];
    member.joined();
    await started;
    timers.clear();
    member.handler.confirmed(systemClock.now() + 30_000);
    const [lapse] = timers.values();
    expect(await health()).toMatchObject({ kq: { status: 'up' } });
    lapse!();
    const fact = 'KQ_AWAY: the group shop has not answered this process for a session timeout';
    expect(await health()).toMatchObject({
      kq: { status: 'down', groups: { shop: { state: expect.stringContaining(fact), partitions: {} } } },
    });
    expect(left).toEqual([{ group: 'shop', error: expect.objectContaining({ code: 'KQ_AWAY' }) }]);
    member.handler.confirmed(systemClock.now() + 30_000);
    expect(await health()).toMatchObject({ kq: { status: 'up', groups: { shop: { state: 'up' } } } });
    expect(logger.matching(/./)).toEqual([
      'consuming orders in the group shop',
      expect.stringMatching(/^this process is out of the group shop and keeps asking it: KQ_AWAY/),
      'this process has rejoined the group shop',
    ]);
    await membership.end();
    expect(timers.size).toBe(0);
  });

  it('reports what cannot be read, and when it can be again, and stays up', async () => {
    const told: unknown[] = [];
    events.on('unavailable').subscribe((event) => told.push(event));
    const started = membership.start();
    const [member] = members as [Scripted];
    member.joined();
    await started;
    const leaderless = { topic: 'orders', partition: 3, why: 'leaderless' } as const;
    const gone = { topic: 'mails', why: 'unknown' } as const;
    const group = 'shop';
    member.handler.unavailable?.([leaderless]);
    member.handler.unavailable?.([leaderless, gone]);
    expect(await health()).toMatchObject({
      kq: {
        status: 'up',
        groups: { shop: { state: 'up', unavailable: ['orders/3 has no leader', 'mails does not exist'] } },
      },
    });
    member.handler.unavailable?.([gone]);
    member.handler.unavailable?.([]);
    expect((await health()).kq.groups['shop']).not.toHaveProperty('unavailable');
    expect(told).toEqual([
      { group, places: [leaderless], began: [leaderless], ended: [] },
      { group, places: [leaderless, gone], began: [gone], ended: [] },
      { group, places: [gone], began: [], ended: [leaderless] },
      { group, places: [], began: [], ended: [gone] },
    ]);
    expect(logger.matching(/orders\/3|mails/)).toEqual([
      'group shop: orders/3 has no leader; retrying, everything else continues',
      'group shop: mails does not exist; retrying, everything else continues',
      'group shop: orders/3 is back',
      'group shop: mails is back',
    ]);
    await membership.end();
  });

  it('refuses a missing topic at its first join only', async () => {
    const started = membership.start();
    expect(options.at(-1)).toHaveProperty('missing', 'refuse');
    members[0]!.joined();
    await started;
    await membership.outside(async () => undefined);
    expect(options.at(-1)).toHaveProperty('missing', 'wait');
    members[1]!.joined();
    await membership.end();
  });

  it('reports a commit that failed, and leaves all the same', async () => {
    const told: unknown[] = [];
    events.on('commitFailed').subscribe((event) => told.push(event));
    commit = () => Promise.reject(away);
    const started = membership.start();
    const [member] = members as [Scripted];
    const { handler } = member;
    member.joined();
    await started;
    // A gap, after which the group continues.
    handler.batch({ topic: 'orders', partition: 0, messages: [], next: 1n, end: 1n });
    await pass(0);
    expect(told).toEqual([{ group: 'shop', error: away }]);
    expect(logger.matching(/commit/)).toEqual([
      'the group shop cannot commit; retrying: KQ_AWAY: connect ECONNREFUSED',
    ]);
    await membership.end();
    expect(members[0]!.stopped).toBe(true);
  });

  it('fails the start where waiting mends nothing, and rejoins where that shows later', async () => {
    const refusal = new KqError('KQ_REFUSED', 'no right to read');
    const started = membership.start();
    members[0]!.refused(refusal);
    await expect(started).rejects.toBe(refusal);
    expect(members[0]!.stopped).toBe(true);

    const again = membership.start();
    await pass(5_000);
    await again;
    members[1]!.refused(refusal);
    await new Promise(setImmediate);
    expect(await health()).toMatchObject({
      kq: { groups: { shop: { state: 'KQ_REFUSED: no right to read' } } },
    });
    await pass(30_000);
    members[2]!.joined();
    expect(await health()).toMatchObject({ kq: { status: 'up' } });
    await membership.end();
  });

  it('ends while it waits', async () => {
    const started = membership.start();
    await pass(5_000);
    await started;
    await membership.end();
    await new Promise(setImmediate);
    expect(timers.size).toBe(0);
    expect(logger.matching(/KQ_/)).toEqual([]);
  });
});
