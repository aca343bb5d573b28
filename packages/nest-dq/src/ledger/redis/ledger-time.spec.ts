import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { LedgerTime } from './ledger-time.js';

describe('LedgerTime', () => {
  const START = Date.UTC(2030, 0, 1);
  let clock: VirtualClock;
  let time: LedgerTime;

  beforeEach(() => {
    clock = new VirtualClock(START);
    time = new LedgerTime(clock);
  });

  /** A reading that arrives now, from a server whose clock is ahead of the machine's by `ahead`. */
  async function read({ ahead, out = 0, home = 0 }: { ahead: number; out?: number; home?: number }) {
    const sent = clock.now();
    await clock.advance(out);
    const serverTime = clock.wall() + ahead;
    await clock.advance(home);
    time.observe(sent, clock.now(), serverTime);
  }

  const ahead = () => time.now() - clock.wall();

  it('is the machine’s clock until the server’s was read', async () => {
    expect(time.known).toBe(false);
    expect(ahead()).toBe(0);
    await read({ ahead: 700 });
    expect(time.known).toBe(true);
    expect(ahead()).toBe(700);
  });

  it('advances with the monotonic clock', async () => {
    await read({ ahead: 700 });
    const before = time.now();
    await clock.advance(90_000);
    expect(time.now() - before).toBe(90_000);
  });

  it('takes the server’s moment for the middle of the round trip', async () => {
    await read({ ahead: 700, out: 30, home: 10 });
    expect(ahead()).toBe(710);
  });

  it('keeps the reading with the least round trip', async () => {
    await read({ ahead: 700, out: 1, home: 1 });
    await read({ ahead: 700, out: 50, home: 0 });
    expect(ahead()).toBe(700);
    await read({ ahead: 700, out: 1, home: 0.5 });
    expect(ahead()).toBe(700.25);
  });

  it('learns nothing from a reply that was read hours later', async () => {
    await read({ ahead: 700, out: 1, home: 7_200_000 });
    expect(time.known).toBe(false);
    expect(ahead()).toBe(0);
    await read({ ahead: 700 });
    time.renew();
    await read({ ahead: 700, out: 7_200_000, home: 1 });
    expect(ahead()).toBe(700);
  });

  it('is never less than what is certain, even if a slower reply established it', async () => {
    await read({ ahead: 700, out: 0, home: 2 });
    expect(ahead()).toBe(699);
    await read({ ahead: 700, out: 40, home: 0 });
    expect(ahead()).toBe(700);
  });

  describe('nowAtLeast', () => {
    const behind = () => clock.wall() + 700 - time.nowAtLeast();

    it('is no time at all before the first reply, whatever the machine’s clock shows', () => {
      expect(time.nowAtLeast()).toBe(-Infinity);
    });

    it('comes from a slow reply too, from which nothing else is learnt', async () => {
      await read({ ahead: -3_600_000, out: 1_500, home: 1_500 });
      expect(time.known).toBe(false);
      expect(time.nowAtLeast()).toBe(clock.wall() - 3_600_000 - 1_500);
    });

    it('is never ahead of the server’s clock, however the round trip was shared out', async () => {
      await read({ ahead: 700, out: 30, home: 0 });
      expect(behind()).toBe(0);
      expect(ahead()).toBe(715); // which the middle of a round trip may well be
      await read({ ahead: 700, out: 0, home: 30 });
      expect(behind()).toBeCloseTo(0.015);
    });

    it('allows for clocks that drift, and learns from each reply', async () => {
      await read({ ahead: 700, out: 1, home: 1 });
      expect(behind()).toBe(1);
      await clock.advance(60_000);
      expect(behind()).toBeCloseTo(31);
      await read({ ahead: 700, home: 4 });
      expect(behind()).toBeCloseTo(4);
    });

    it('follows a server whose clock was set back', async () => {
      await read({ ahead: 10_700 });
      await read({ ahead: 700 });
      expect(behind()).toBe(0);
    });

    it('starts over with another server', async () => {
      await read({ ahead: 10_700, out: 500, home: 500 });
      time.renew();
      await read({ ahead: 700, out: 400, home: 400 });
      expect(behind()).toBe(400);
    });
  });

  it('forgets a reading after 60 s, and then takes the best of the rest', async () => {
    await read({ ahead: 700 });
    await clock.advance(30_000);
    await read({ ahead: 700, out: 4, home: 0 });
    await clock.advance(10_000);
    await read({ ahead: 700, out: 8, home: 0 });
    expect(ahead()).toBe(700);
    await clock.advance(25_000);
    await read({ ahead: 700, out: 20, home: 0 });
    expect(ahead()).toBe(702);
    await clock.advance(25_000);
    await read({ ahead: 700, out: 20, home: 0 });
    expect(ahead()).toBe(704);
  });

  it('keeps the last reading while no other comes', async () => {
    await read({ ahead: 700, out: 4, home: 0 });
    await clock.advance(3_600_000);
    expect(ahead()).toBe(702);
  });

  it('starts over on a new connection, with its first reading, and keeps the old offset until then', async () => {
    await read({ ahead: 700 });
    time.renew();
    expect(time.known).toBe(true);
    expect(ahead()).toBe(700);
    await read({ ahead: 703, out: 10, home: 0 });
    expect(ahead()).toBe(708);
    await read({ ahead: 703, out: 1, home: 1 });
    expect(ahead()).toBe(703);
  });

  it('starts over when the server’s clock was set, even after a worse round trip', async () => {
    await read({ ahead: 700 });
    await clock.advance(1_000);
    await read({ ahead: 400, out: 5, home: 5 });
    expect(ahead()).toBe(400);
  });

  it('does not take a slow reading or a little drift for a clock that was set', async () => {
    await read({ ahead: 700 });
    await clock.advance(50_000);
    await read({ ahead: 710, out: 100, home: 0 });
    await read({ ahead: 710, out: 1, home: 0 });
    expect(ahead()).toBe(710); // which is certain; by the last reading alone it would be half a millisecond more
  });
});
