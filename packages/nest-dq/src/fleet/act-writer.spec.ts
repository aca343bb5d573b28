import { beforeEach, describe, expect, it } from '@jest/globals';
import { CollectingHub } from '../../spec-support/collecting-hub.js';
import { DqError } from '../errors.js';
import type { OperatorAct } from '../events/events.js';
import { MAX_ACTS, type Acts } from './acts.js';
import { LocalActs } from './local-acts.js';
import { VirtualClock } from 'nest-handlers/testing';
import { actPage, type ActPageOptions } from '../operate/act-view.js';
import { ActWriter } from './act-writer.js';

const PAUSE: OperatorAct = { by: 'ann', act: 'pause', on: { tube: 't' }, count: 1 };

describe('ActWriter', () => {
  let clock: VirtualClock;
  let events: CollectingHub;
  let acts: LocalActs;
  let away: boolean;
  /** Acts in each call. */
  let calls: number[];
  let warnings: string[];
  let writer: ActWriter;

  beforeEach(() => {
    clock = new VirtualClock();
    events = new CollectingHub();
    acts = new LocalActs(() => clock.wall());
    [away, calls, warnings] = [false, [], []];
    const reached: Acts = {
      now: () => acts.now(),
      read: (...page) => acts.read(...page),
      add: async (some) => {
        calls.push(some.length);
        if (away) throw new DqError('DQ_LEDGER_DOWN', 'Redis is away');
        await acts.add(some);
      },
    };
    writer = new ActWriter({
      events,
      acts: reached,
      clock,
      hidesKeys: false,
      warn: (message) => warnings.push(message),
    });
  });

  it.each([true, false])('stores the key of a job, unless keys are hidden: %s', async (hidesKeys) => {
    const hub = new CollectingHub();
    new ActWriter({ events: hub, acts, clock, hidesKeys, warn: (message) => warnings.push(message) });
    hub.emit('operated', { ...PAUSE, act: 'revoke', on: { tube: 't', id: 'x', key: 'order:42' } });
    await clock.advance(0);
    const [act] = await stored();
    expect(act!.on).toEqual({ tube: 't', id: 'x', ...(!hidesKeys && { key: 'order:42' }) });
  });

  const stored = async (options?: ActPageOptions) => (await actPage(acts, options)).acts;
  const told = (number: number) => events.emit('operated', { ...PAUSE, count: number });

  it('stores each act, with the time at which it ended', async () => {
    const at = new Date(clock.wall());
    events.emit('operated', PAUSE);
    const on = { tube: 't', filter: { dueTo: at, limit: 5 }, change: { later: '1h' } };
    const error = new DqError('DQ_TOO_FEW_COPIES', 'stored on 1 of 3 nodes');
    events.emit('operated', { ...PAUSE, act: 'rescheduleMany', on, count: 7, error });
    events.emit('operated', { ...PAUSE, error: new TypeError('x'.repeat(2_500)) });
    await clock.advance(0);
    expect(await stored()).toEqual([
      {
        ...PAUSE,
        id: expect.any(String),
        at,
        error: { code: 'TypeError', message: `${'x'.repeat(2_000)}… (500 more characters)` },
      },
      {
        ...PAUSE,
        id: expect.any(String),
        at,
        act: 'rescheduleMany',
        on: { ...on, filter: { dueTo: at.toISOString(), limit: 5 } },
        count: 7,
        error: { code: 'DQ_TOO_FEW_COPIES', message: 'DQ_TOO_FEW_COPIES: stored on 1 of 3 nodes' },
      },
      { ...PAUSE, id: expect.any(String), at },
    ]);
    expect(new Set((await stored()).map(({ id }) => id)).size).toBe(3);
  });

  it('stores what JSON cannot hold, or holds in a long text only, as a short text', async () => {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    events.emit('operated', { ...PAUSE, on: { tube: 't', change: cycle } });
    events.emit('operated', { ...PAUSE, on: { tube: 't', filter: { error: 'x'.repeat(3_000) } } });
    await clock.advance(0);
    expect((await stored()).map(({ on }) => on)).toEqual([
      { tube: 't', change: expect.stringMatching(/^\{"filter":\{"error":"x{75,}…$/) },
      { tube: 't', change: '[object Object]' },
    ]);
    expect(events.failures).toEqual([]);
  });

  it('stores later what it cannot store now, and says so once', async () => {
    away = true;
    told(1);
    await clock.advance(7_000);
    told(2);
    await clock.advance(20_000);
    expect(warnings).toEqual(['storing operator actions failed; retrying: Redis is away']);
    away = false;
    await clock.advance(5_000);
    expect((await stored()).map(({ count }) => count)).toEqual([2, 1]);
    expect((await stored()).map(({ at }) => clock.wall() - at.getTime())).toEqual([25_000, 32_000]);
    away = true;
    told(3);
    await clock.advance(0);
    expect(warnings).toHaveLength(2);
  });

  it('stores many together, and keeps no more of them than the ledger does', async () => {
    away = true;
    for (let i = 0; i < MAX_ACTS + 5; i++) told(i);
    away = false;
    await clock.advance(10_000);
    const found = await stored({ limit: 1_000 });
    expect([found.length, found[0]!.count, found.at(-1)!.count]).toEqual([MAX_ACTS, MAX_ACTS + 4, 5]);
    expect(calls.length).toBeLessThan(20);
  });

  it('stores the rest at its end, and says how many acts it could not store', async () => {
    told(1);
    await writer.close();
    await writer.close();
    expect(await stored()).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it('says at its end how many acts it could not store, and tries no more', async () => {
    away = true;
    told(1);
    told(2);
    await clock.advance(0);
    await writer.close();
    expect(warnings).toEqual([
      'storing operator actions failed; retrying: Redis is away',
      'the last 2 operator actions were not stored',
    ]);
    const tries = calls.length;
    away = false;
    await clock.advance(60_000);
    expect(calls).toHaveLength(tries);
  });

  it('is read page by page', async () => {
    for (let i = 0; i < 5; i++) told(i);
    await clock.advance(0);
    const first = await actPage(acts, { limit: 2 });
    const second = await actPage(acts, { limit: 2, cursor: first.cursor! });
    const last = await actPage(acts, { limit: 2, cursor: second.cursor! });
    expect([first, second, last].map((page) => page.acts.map(({ count }) => count))).toEqual([
      [4, 3],
      [2, 1],
      [0],
    ]);
    expect(last).not.toHaveProperty('cursor');
    expect(await actPage(acts, { limit: 5 })).not.toHaveProperty('cursor');
  });

  it.each([
    [{ limit: 0 }, 'DQ_BAD_OPTION: `limit` is 0: expected 1 to 1000'],
    [{ limit: 1_001 }, 'DQ_BAD_OPTION: `limit` is 1001: expected 1 to 1000'],
    [{ cursor: 'x' }, 'DQ_BAD_OPTION: `cursor` is "x": expected the `cursor` of the previous page'],
    [{ before: 1 }, /^DQ_BAD_OPTION: .*before/],
  ])('refuses %j', async (options, message) => {
    await expect(actPage(acts, options as ActPageOptions)).rejects.toThrow(message);
  });
});
