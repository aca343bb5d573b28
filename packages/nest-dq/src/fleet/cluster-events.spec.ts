import { describe, expect, it } from '@jest/globals';
import { hostname } from 'node:os';
import { Again } from '../api/outcome.js';
import type { DelayedJob } from '../api/job.js';
import type { DeadLetter } from '../api/dead-letter.js';
import { LocalEventLog } from './local-event-log.js';
import { VirtualClock } from 'nest-handlers/testing';
import { ClusterEvents } from './cluster-events.js';
import { EventHub } from '../events/event-hub.js';
import type { DqClusterEventName, ExpiredJob } from '../events/events.js';

const AT = Date.UTC(2026, 10, 28);
const DUE = new Date(AT - 60_000);
const fields = { id: 'a', tube: 't', key: 'k', attempt: 2, dueAt: DUE };
const job = fields as DelayedJob;
const letter = {
  ...fields,
  why: 'attempts',
  error: { name: 'Error', message: 'x'.repeat(1_000), stack: 'private' },
} as unknown as DeadLetter;

const turns = async () => {
  for (let i = 0; i < 20; i++) await Promise.resolve();
};

function processes({ keepErrors = true, isSecret = false } = {}) {
  const clock = new VirtualClock();
  const log = new LocalEventLog(() => AT);
  const warnings: string[] = [];
  const start = () => {
    const events = new EventHub({ lateAfter: 1_000, listenerFailed: () => undefined, clusterEvents: true });
    const warn = (message: string) => void warnings.push(message);
    const cluster = new ClusterEvents({ events, log, clock, warn, keepErrors, isSecret });
    cluster.start();
    const heard: object[] = [];
    const listen = (...names: DqClusterEventName[]) =>
      names.forEach((name) =>
        events.on(name, { scope: 'cluster' }).subscribe((event) => heard.push({ name, ...event })),
      );
    return { events, cluster, heard, listen };
  };
  return { clock, log, warnings, one: start(), other: start() };
}

describe('cluster events', () => {
  it('arrive in every process that listens, the own one included, in their order', async () => {
    const { one, other, log } = processes();
    one.listen('completed', 'dead', 'expired');
    other.listen('completed', 'dead', 'expired');
    one.events.emit('completed', { job, took: 3.4, result: { private: true } });
    one.events.emit('completed', { job, took: 5, result: Again.after('1h') });
    one.events.emit('dead', { letter });
    one.events.emit('expired', { id: 'b', tube: 't', dueAt: DUE, expiredAt: new Date(AT) } as ExpiredJob);
    await turns();
    const base = { tube: 't', at: new Date(AT), process: `${hostname()}:${process.pid}`, dueAt: DUE };
    const of = { ...base, id: 'a', key: 'k', attempt: 2 };
    expect(other.heard).toEqual([
      { name: 'completed', ...of, took: 3 },
      { name: 'completed', ...of, took: 5, again: true },
      { name: 'dead', ...of, why: 'attempts', error: { name: 'Error', message: 'x'.repeat(300) } },
      { name: 'expired', ...base, id: 'b', expiredAt: new Date(AT) },
    ]);
    expect(one.heard).toEqual(other.heard);
    await log.append(['no JSON', '{"name":"started","at":1,"event":{"id":"a","tube":"t","process":"p"}}']);
    expect(one.heard).toHaveLength(4);
  });

  it('have neither key nor error in a cluster that encrypts, and no error with `keepErrors: false`', async () => {
    for (const options of [{ isSecret: true }, { keepErrors: false }]) {
      const { one, other } = processes(options);
      other.listen('dead');
      one.events.emit('dead', { letter });
      await turns();
      expect(other.heard[0]).not.toHaveProperty('error');
      expect('key' in other.heard[0]!).toBe(!options.isSecret);
    }
  });

  it('that the log refuses, or that are too many, are dropped, counted and reported', async () => {
    const { one, other, log, warnings, clock } = processes();
    other.listen('completed');
    const append = log.append.bind(log);
    log.append = () => Promise.reject(new Error('it is away'));
    one.events.emit('completed', { job, took: 1, result: 1 });
    await turns();
    expect([one.cluster.dropped, warnings]).toEqual([1, ['1 events could not be passed on: it is away']]);
    let go = (): void => undefined;
    log.append = async (entries) => {
      await new Promise<void>((resolve) => (go = resolve));
      log.append = append;
      return append(entries);
    };
    await clock.advance(60_000);
    for (let i = 0; i < 10_103; i++) one.events.emit('completed', { job, took: i, result: 1 });
    await turns();
    for (let i = 0; i < 100; i++) one.events.emit('completed', { job, took: i, result: 1 });
    go();
    await clock.advance(0);
    await turns();
    await one.cluster.close();
    expect(one.cluster.dropped).toBe(1 + 103);
    expect(other.heard).toHaveLength(10_100);
    expect(warnings.slice(1)).toEqual(['1 events could not be passed on fast enough']);
  });

  it('that were missed are counted, and an unknown number is called so', async () => {
    const { one, log, warnings, clock } = processes();
    const follow = log.follow.bind(log);
    let missed: (count: number) => void = () => undefined;
    log.follow = (follower) => {
      missed = follower.missed.bind(follower);
      return follow(follower);
    };
    one.listen('completed');
    missed(7);
    missed(2);
    expect([one.cluster.dropped, warnings]).toEqual([9, ['7 events of other processes were missed']]);
    await clock.advance(60_000);
    missed(0);
    expect(warnings[1]).toBe(
      'an unknown number of events of other processes were missed: Redis has lost its data',
    );
  });

  it('need the option, and a name that there is', () => {
    const off = new EventHub({ lateAfter: 1_000, listenerFailed: () => undefined });
    expect(() => off.on('dead', { scope: 'cluster' })).toThrow(/DQ_BAD_OPTION: .*`clusterEvents: true`/);
    const { one } = processes();
    expect(() => one.events.on('started' as 'dead', { scope: 'cluster' })).toThrow(
      /DQ_BAD_OPTION: unknown event "started" with `scope: 'cluster'`: expected one of completed, dead, expired/,
    );
    expect(() => one.events.on('dead', { scope: 'all' as 'cluster' })).toThrow(
      "DQ_BAD_OPTION: `scope` is \"all\": expected 'process' or 'cluster'",
    );
  });
});
