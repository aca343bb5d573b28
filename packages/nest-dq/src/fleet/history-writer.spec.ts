import { beforeEach, describe, expect, it } from '@jest/globals';
import { Tally } from '../events/tally.js';
import { ALL_TUBES, type History } from './history.js';
import { LocalHistory } from './local-history.js';
import { VirtualClock } from 'nest-handlers/testing';
import { HistoryWriter } from './history-writer.js';
import { bucketsOf } from '../operate/history-view.js';

const MINUTE = 60_000;

describe('HistoryWriter', () => {
  let clock: VirtualClock;
  let tally: Tally;
  let history: LocalHistory;
  let away: boolean;
  let writer: HistoryWriter;
  let calls: number;

  beforeEach(async () => {
    clock = new VirtualClock();
    await clock.advance(MINUTE - (clock.wall() % MINUTE));
    tally = new Tally();
    history = new LocalHistory(() => clock.wall());
    away = false;
    calls = 0;
    const reached: History = {
      now: () => history.now(),
      read: (...range) => history.read(...range),
      quarters: (hour) => history.quarters(hour),
      minutes: (hour) => history.minutes(hour),
      add: async (minutes) => {
        calls++;
        if (away) throw new Error('away');
        await history.add(minutes);
      },
    };
    writer = new HistoryWriter(tally, reached, clock);
    writer.start();
  });

  const minuteNow = () => Math.floor(clock.wall() / MINUTE);
  const scheduledOf = async (tube: string, from = minuteNow() - 100, to = minuteNow()) => {
    const found: [minute: number, scheduled: number][] = [];
    for (let minute = from; minute <= to; minute++)
      for (const { counts } of await history.read(tube, minute, minute)) found.push([minute, counts[0]!]);
    return found;
  };

  it('adds what was counted to the minute in which it happened, every 10 s, for each tube and for all', async () => {
    const minute = minuteNow();
    for (let second = 0; second < 120; second += 5) {
      tally.count(second % 10 === 0 ? 'a' : 'b', 'scheduled');
      await clock.advance(5_000);
    }
    expect(calls).toBe(12);
    expect(await scheduledOf('a')).toEqual([
      [minute, 6],
      [minute + 1, 6],
    ]);
    expect(await scheduledOf(ALL_TUBES)).toEqual([
      [minute, 12],
      [minute + 1, 12],
    ]);
  });

  it('does nothing where nothing happens', async () => {
    await clock.advance(10 * MINUTE);
    expect(calls).toBe(0);
  });

  it('counts starts by their lateness', async () => {
    for (const lateness of [-3, 1, 2, 10, 11, 21, 60_000, 60_001, 86_400_001]) tally.started('a', lateness);
    await writer.close();
    const [bucket, ...others] = await bucketsOf(history, '', {
      tube: 'a',
      from: clock.wall(),
      to: clock.wall(),
    });
    expect(others).toEqual([]);
    expect(bucket).toEqual({
      at: new Date(minuteNow() * MINUTE),
      scheduled: 0,
      started: 9,
      completed: 0,
      failed: 0,
      dead: 0,
      expired: 0,
      timed: 0,
      runTime: 0,
      byLateness: [
        { upTo: 1, started: 2 },
        { upTo: 2, started: 1 },
        { upTo: 5, started: 0 },
        { upTo: 10, started: 1 },
        { upTo: 20, started: 1 },
        { upTo: 50, started: 1 },
        { upTo: 100, started: 0 },
        { upTo: 200, started: 0 },
        { upTo: 500, started: 0 },
        { upTo: 1_000, started: 0 },
        { upTo: 2_000, started: 0 },
        { upTo: 5_000, started: 0 },
        { upTo: 10_000, started: 0 },
        { upTo: 60_000, started: 1 },
        { upTo: 600_000, started: 1 },
        { upTo: 3_600_000, started: 0 },
        { upTo: 86_400_000, started: 0 },
        { upTo: Infinity, started: 1 },
      ],
    });
  });

  it('counts how runs ended, and for how long they ran, to the microsecond', async () => {
    tally.ended('a', 'completed', 0.25);
    tally.ended('a', 'completed', 31);
    tally.ended('a', 'failed', 1_000);
    await writer.close();
    const [bucket] = await bucketsOf(history, '', { tube: 'a', from: clock.wall(), to: clock.wall() });
    expect(bucket).toMatchObject({ completed: 2, failed: 1, timed: 3, runTime: 1_031.25 });
  });

  it('keeps counts that the ledger did not take, under their minute, and drops the oldest if there are too many', async () => {
    const minute = minuteNow();
    away = true;
    tally.count('a', 'scheduled');
    await clock.advance(MINUTE);
    tally.count('a', 'scheduled');
    await clock.advance(10_000);
    away = false;
    tally.count('a', 'scheduled');
    await clock.advance(10_000);
    expect(await scheduledOf('a')).toEqual([
      [minute, 1],
      [minute + 1, 2],
    ]);
    away = true;
    const from = minuteNow() + 1;
    await clock.advance(MINUTE);
    for (let i = 0; i < 1_500; i++) {
      tally.count('b', 'scheduled');
      await clock.advance(MINUTE);
    }
    away = false;
    tally.count('b', 'scheduled');
    await writer.close();
    expect(await scheduledOf('b', from, minuteNow())).toHaveLength(1_000);
  });

  it('writes the rest when it ends, and nothing after that', async () => {
    tally.count('a', 'dead');
    await writer.close();
    await writer.close();
    tally.count('a', 'dead');
    await clock.advance(MINUTE);
    expect(calls).toBe(1);
  });

  it('counts tubes beyond 200 of an interval in the sum only', async () => {
    for (let i = 0; i < 300; i++) tally.count(`t${i}`, 'scheduled');
    await writer.close();
    expect((await scheduledOf(ALL_TUBES)).map(([, count]) => count)).toEqual([300]);
    expect(await scheduledOf('t299')).toEqual([]);
  });
});

describe('bucketsOf', () => {
  const history = new LocalHistory(() => 0);

  it.each([
    [{ from: 'x', to: 2 }, /DQ_BAD_TIME/],
    [{ from: 2, to: 1 }, /DQ_BAD_TIME|DQ_BAD_OPTION/],
    [{ from: new Date(2), to: new Date(1) }, /DQ_BAD_OPTION: `from` is 1970.*: expected at most `to`, 1970/],
    [{ from: new Date(1), to: new Date(2), tube: '' }, /DQ_BAD_TUBE/],
    [{ from: new Date(1), to: new Date(2), until: 3 }, /DQ_BAD_OPTION: unknown "until" in the range/],
  ])('refuses %j', async (range, message) => {
    await expect(bucketsOf(history, '', range as never)).rejects.toThrow(message);
  });
});
