import { beforeEach, describe, expect, it } from '@jest/globals';
import { VirtualClock } from 'nest-handlers/testing';
import { TimeShares } from './time-shares.js';

describe('TimeShares', () => {
  let clock: VirtualClock;
  let shares: TimeShares;
  let gone: Worker[];

  class Worker {
    /** The work it does when resumed. */
    work: () => void = () => undefined;

    resume(): void {
      gone.push(this);
      this.work();
    }

    mayGoOn(): boolean {
      return shares.mayGoOn(this);
    }

    /** Works until others come first. */
    exhaust(): void {
      while (this.mayGoOn()) clock.stall(0.5);
    }
  }

  beforeEach(() => {
    clock = new VirtualClock();
    shares = new TimeShares(clock);
    gone = [];
  });

  it('gives all who begin in a round five milliseconds together', async () => {
    const [a, b] = [new Worker(), new Worker()];
    const from = clock.now();
    a.exhaust();
    expect(clock.now() - from).toBe(5);
    expect(b.mayGoOn()).toBe(false);
    await clock.quiet();
    expect(gone).toEqual([a, b]);
    expect(b.mayGoOn()).toBe(true);
  });

  it('resumes one in each round, first come first served, for two milliseconds', async () => {
    const workers = [new Worker(), new Worker(), new Worker()];
    for (const worker of workers) worker.exhaust();
    const [a, b, c] = workers;
    const times: number[] = [];
    for (const worker of workers) {
      worker.work = () => {
        const from = clock.now();
        worker.exhaust();
        times.push(clock.now() - from);
        if (times.length === 6) for (const each of workers) each.work = () => undefined;
      };
    }
    const { round } = shares;
    await clock.quiet();
    expect(gone.slice(0, 6)).toEqual([a, b, c, a, b, c]);
    expect(times).toEqual([2, 2, 2, 2, 2, 2]);
    expect(shares.round - round).toBeGreaterThanOrEqual(gone.length);
  });

  it('leaves others their time in a round that resumes one', async () => {
    const [a, b] = [new Worker(), new Worker()];
    a.exhaust();
    const seen: boolean[] = [];
    a.work = () => {
      a.exhaust();
      a.work = () => undefined;
      seen.push(b.mayGoOn(), a.mayGoOn());
    };
    await clock.quiet();
    expect(seen).toEqual([true, false]);
  });

  it('forgets who has left', async () => {
    const [a, b] = [new Worker(), new Worker()];
    a.exhaust();
    b.exhaust();
    shares.leave(a);
    await clock.quiet();
    expect(gone).toEqual([b]);
  });
});
